//! A trunk's weights, rounded and in the orders in which they are multiplied.

use std::{
    hint,
    sync::atomic::{AtomicUsize, Ordering},
    thread,
};

use super::{blocks, conv::Layer, layers::Layers, tiles::Tiles};
use crate::tile::Scratch;

/// Weights of a [`Trunk`](crate::Trunk) as its passes read them, packed once by any number of threads: [`Trunk::pack`](crate::Trunk::pack).
#[derive(Debug)]
pub struct PackedTrunk {
    start: *mut u16,
    /// Of each layer, for the forward pass and behind them for the backward pass.
    places: Vec<usize>,
    /// Those of the trunk that it was made for.
    lengths: Vec<usize>,
    /// The piece that is packed next, and how many are packed.
    next: AtomicUsize,
    done: AtomicUsize,
    _memory: Scratch<u16>,
}

// SAFETY: each piece is written to by the one thread that has drawn its number, and nobody reads before all are packed.
unsafe impl Send for PackedTrunk {}
// SAFETY: as above.
unsafe impl Sync for PackedTrunk {}

/// A part of the packing: a convolution, or 32 outputs of the layer behind them.
enum Piece<'a> {
    Conv(usize, &'a Layer),
    Linear(usize),
}

impl PackedTrunk {
    /// Room for the weights of a layers.
    pub(super) fn new(layers: &Layers) -> Self {
        let convs = layers.convs.iter().map(|layer| layer.conv.weights());
        let linear = layers
            .linear
            .iter()
            .map(|layer| layer.terms() * layer.outputs);
        let mut end = 0;
        let place = |weights: usize| {
            let start = end;
            end += 2 * weights;
            start
        };
        let places = convs.chain(linear).map(place).collect();
        let mut memory = Scratch::new(end);
        Self {
            start: memory.start(),
            places,
            lengths: layers.lengths().collect(),
            next: AtomicUsize::new(0),
            done: AtomicUsize::new(0),
            _memory: memory,
        }
    }

    /// As it was made: to be packed anew.
    pub fn clear(&mut self) {
        *self.next.get_mut() = 0;
        *self.done.get_mut() = 0;
    }

    /// Weights of a layer, of which it has so many, for the forward pass and for the backward pass.
    pub(super) fn layer(&self, layer: usize, weights: usize) -> [*mut u16; 2] {
        let start = self.start.wrapping_add(self.places[layer]);
        [start, start.wrapping_add(weights)]
    }

    /// Whether the trunk's weights are as many as those that there is room for.
    pub(super) fn is_for(&self, layers: &Layers) -> bool {
        layers.lengths().eq(self.lengths.iter().copied())
    }

    pub(super) fn is_whole(&self, layers: &Layers) -> bool {
        self.done.load(Ordering::Acquire) == num_pieces(layers)
    }

    /// Packs pieces that nobody else has begun with, and waits for those of others.
    pub(super) unsafe fn take_part<T: Tiles>(&self, _: &mut T, layers: &Layers, params: &[&[f32]]) {
        let count = num_pieces(layers);
        loop {
            let number = self.next.fetch_add(1, Ordering::Relaxed);
            if number >= count {
                break;
            }
            match piece(layers, number) {
                Piece::Conv(number, layer) => {
                    self.pack_conv::<T>(number, layer, layers.of_layer(params, number)[0]);
                }
                Piece::Linear(output) => {
                    let number = layers.convs.len();
                    if let Some(linear) = &layers.linear {
                        let to = self.layer(number, linear.terms() * linear.outputs);
                        linear.pack::<T>(output, layers.of_layer(params, number)[0], to);
                    }
                }
            }
            self.done.fetch_add(1, Ordering::Release);
        }
        let mut turns = 0;
        while !self.is_whole(layers) {
            turns += 1;
            if turns % 1000 == 0 {
                thread::yield_now();
            } else {
                hint::spin_loop();
            }
        }
    }

    unsafe fn pack_conv<T: Tiles>(&self, number: usize, layer: &Layer, weight: &[f32]) {
        let (conv, (ins, outs)) = (&layer.conv, layer.conv.blocks());
        let (places, terms) = (conv.places(), conv.terms());
        let [forward, backward] = self.layer(number, conv.weights());
        let ordered: Vec<f32> = layer.order.iter().map(|at| weight[*at as usize]).collect();
        for (output, column) in (0..outs).flat_map(|out| (0..terms / 32).map(move |at| (out, at))) {
            let (place, channel) = (column / ins, column % ins);
            let forward = forward.add((output * places * ins + column) * blocks::BLOCK);
            let backward =
                backward.add(((channel * places + place) * outs + output) * blocks::BLOCK);
            let from = ordered[output * 32 * terms + column * 32..].as_ptr();
            blocks::pack::<T>(from, terms, layer.divisor(), forward, backward);
        }
    }
}

fn num_pieces(layers: &Layers) -> usize {
    layers.convs.len() + layers.linear.as_ref().map_or(0, |layer| layer.outputs / 32)
}

/// The large ones first.
fn piece(layers: &Layers, number: usize) -> Piece<'_> {
    let of_linear = num_pieces(layers) - layers.convs.len();
    match number.checked_sub(of_linear) {
        Some(conv) => Piece::Conv(conv, &layers.convs[conv]),
        None => Piece::Linear(number),
    }
}
