//! Nodes of libtorch's graph whose arithmetic is ours.

use std::{
    cell::RefCell,
    ffi::{CString, c_char, c_int, c_void},
    ptr,
};

use tch::Tensor;

use crate::{
    panics::{self, Panic},
    tensors::torch_error,
};

/// What a node knows of its forward pass.
pub(super) trait Backward: Send + 'static {
    /// Writes the gradients of the inputs from that of the output, which lies in a row. They are in memory of their own, in
    /// the order of the inputs; one that nobody wants is not defined.
    fn backward(&mut self, of_output: &Tensor, of_inputs: Vec<Tensor>);
}

/// A tensor of libtorch's.
#[repr(C)]
struct RawTensor {
    _private: [u8; 0],
}

/// `Saved` in `csrc/node.cpp`.
#[repr(C)]
struct Saved {
    state: *mut c_void,
    backward:
        unsafe extern "C" fn(*mut c_void, *const RawTensor, *const *mut RawTensor) -> *const c_char,
    drop: unsafe extern "C" fn(*mut c_void),
    place: unsafe extern "C" fn(*const c_void) -> *const RawTensor,
}

thread_local! {
    static PLACES: RefCell<Vec<Place>> = const { RefCell::new(Vec::new()) };
}

/// Where the gradient of a tensor is wanted.
struct Place {
    /// Where the tensor lies.
    address: *const c_void,
    /// Of its shape and type.
    wanted: Tensor,
    is_taken: bool,
}

/// Has the layers of this thread write the gradients of such tensors where they are wanted, until this is dropped: each
/// that is computed first. Others lie elsewhere, as do those that libtorch computes.
pub(super) struct Places(());

impl Places {
    /// Tensors, and places of their shapes and types.
    pub fn new(wanted: impl Iterator<Item = (*const c_void, Tensor)>) -> Self {
        let places = wanted.map(|(address, wanted)| Place {
            address,
            wanted,
            is_taken: false,
        });
        PLACES.set(places.collect());
        Self(())
    }
}

impl Drop for Places {
    fn drop(&mut self) {
        PLACES.set(Vec::new());
    }
}

#[expect(unsafe_code, reason = "a function for C++")]
unsafe extern "C" fn place(address: *const c_void) -> *const RawTensor {
    PLACES.with_borrow_mut(|places| {
        let is_free = |place: &&mut Place| place.address == address && !place.is_taken;
        places
            .iter_mut()
            .find(is_free)
            .map_or(ptr::null(), |place| {
                place.is_taken = true;
                place.wanted.as_ptr().cast()
            })
    })
}

/// What is saved, and how many inputs there are.
struct State<Saved> {
    saved: Saved,
    num_inputs: usize,
}

/// Whether a graph is being made in this thread, and one of the `inputs` wants gradients.
#[expect(unsafe_code, reason = "a foreign function")]
pub(super) fn wants_gradients(inputs: &[&Tensor]) -> bool {
    unsafe extern "C" {
        fn trainer_wants_gradients(inputs: *const *const RawTensor, count: usize) -> bool;
    }
    let inputs = pointers(inputs);
    // SAFETY: all are tensors of libtorch's, which is what tch's pointers point to.
    unsafe { trainer_wants_gradients(inputs.as_ptr(), inputs.len()) }
}

/// Has gradients of `output`, which was made of the `inputs`, flow back to them through what is `saved`. Those of the
/// first inputs, so many as are `optional`, are computed only where somebody wants them.
///
/// # Panics
/// Where libtorch fails.
#[expect(unsafe_code, reason = "a foreign function")]
pub(super) fn attach<S: Backward>(
    output: &mut Tensor,
    inputs: &[&Tensor],
    optional: usize,
    saved: S,
) {
    unsafe extern "C" {
        fn trainer_node(
            output: *mut RawTensor,
            inputs: *const *const RawTensor,
            count: usize,
            optional: usize,
            saved: Saved,
        ) -> c_int;
    }
    let inputs = pointers(inputs);
    let state = Box::new(State {
        saved,
        num_inputs: inputs.len(),
    });
    let saved = Saved {
        state: Box::into_raw(state).cast(),
        backward: backward::<S>,
        drop: forget::<S>,
        place,
    };
    // SAFETY: all are tensors of libtorch's; the state is that of the functions beside it.
    let status = unsafe {
        trainer_node(
            output.as_mut_ptr().cast(),
            inputs.as_ptr(),
            inputs.len(),
            optional,
            saved,
        )
    };
    assert!(status == 0, "{}", torch_error());
}

fn pointers(tensors: &[&Tensor]) -> Vec<*const RawTensor> {
    let pointers = tensors.iter().map(|tensor| tensor.as_ptr().cast());
    pointers.collect()
}

#[expect(unsafe_code, reason = "a function for C++")]
unsafe extern "C" fn backward<S: Backward>(
    state: *mut c_void,
    of_output: *const RawTensor,
    of_inputs: *const *mut RawTensor,
) -> *const c_char {
    // SAFETY: the state is the one that `attach` handed over, and the node's lock keeps others away from it; the tensors
    // are there until this returns, one for each input.
    let done = panics::held(|| unsafe {
        let State { saved, num_inputs } = &mut *state.cast::<State<S>>();
        let of_inputs = std::slice::from_raw_parts(of_inputs, *num_inputs);
        let handle = |tensor: *const RawTensor| Tensor::clone_from_ptr(tensor.cast_mut().cast());
        let handles = of_inputs.iter().map(|tensor| handle(tensor.cast_const()));
        saved.backward(&handle(of_output), handles.collect());
    });
    done.map_or_else(|panic| tell(&panic), |()| ptr::null())
}

thread_local! {
    /// Why the last backward pass of this thread failed.
    static WHY: RefCell<CString> = RefCell::default();
}

/// A panic as words for C++, which are there until the next one.
fn tell(panic: &Panic) -> *const c_char {
    let words = panic.words().replace('\0', "");
    WHY.set(CString::new(words).unwrap_or_default());
    WHY.with_borrow(|why| why.as_ptr())
}

#[expect(unsafe_code, reason = "a function for C++")]
unsafe extern "C" fn forget<S: Backward>(state: *mut c_void) {
    // SAFETY: it is the box that `attach` handed over, and comes back once.
    drop(unsafe { Box::from_raw(state.cast::<State<S>>()) });
}

#[cfg(test)]
mod tests {
    use tch::{Device, Kind};

    use super::*;

    struct Fails;

    impl Backward for Fails {
        fn backward(&mut self, of_output: &Tensor, _: Vec<Tensor>) {
            assert_eq!(of_output.numel(), 0, "can't allocate memory");
        }
    }

    #[test]
    fn a_backward_pass_that_panics_is_an_error_of_libtorch() {
        let ones = || Tensor::ones([2], (Kind::Float, Device::Cpu));
        let input = ones().set_requires_grad(true);
        let mut output = ones();
        attach(&mut output, &[&input], 0, Fails);
        let result = panics::catch_panics(|| {
            output.sum(Kind::Float).backward();
            Ok(())
        });
        let error = result.unwrap_err();
        assert!(
            error
                .to_string()
                .starts_with("libtorch: assertion `left == right` failed: can't allocate memory. "),
            "{error}"
        );
    }
}
