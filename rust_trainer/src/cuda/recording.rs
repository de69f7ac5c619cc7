//! Work on tensors that is done again and again with other numbers: recorded once, then replayed.
//!
//! A small network asks for a hundred kernels a gradient step, and to queue each takes the host longer than
//! the device needs for it. Replaying them is one call.

use std::fmt::Debug;

use tch::{Device, Tensor};

use super::{CudaError, Graph};
use crate::tensors::copy;

/// Takes down what work does, without doing it: CUDA's graphs, or in tests one that only keeps the rules. The work
/// makes tensors of the same places on each replay, waits for nothing, and reads no number on the host.
pub(crate) type Recorder = fn(&mut dyn FnMut() -> Vec<Tensor>) -> Result<Box<dyn Tape>, CudaError>;

/// Work that has been taken down.
pub(crate) trait Tape: Send + Debug {
    /// Does it; what it made lies where it lay the last time. `work` is the same that was recorded.
    fn replay(&mut self, work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<&[Tensor], CudaError>;
}

/// A CUDA graph, and what it makes.
#[derive(Debug)]
struct GraphTape(Graph, Vec<Tensor>);

impl Tape for GraphTape {
    fn replay(&mut self, _work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<&[Tensor], CudaError> {
        self.0.replay()?;
        Ok(&self.1)
    }
}

fn graph(work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<Box<dyn Tape>, CudaError> {
    let (graph, made) = Graph::record(work)?;
    Ok(Box::new(GraphTape(graph, made)))
}

/// One piece of work, done many times.
///
/// It is done as it comes on the CPU; on a CUDA device it is done so [`Recording::WARM_UP`] times for
/// inputs of each shape, while libraries choose their algorithms, and recorded then. Where that fails it is
/// done as it comes, and [`Recording::problem`] says why.
#[derive(Debug)]
pub struct Recording {
    recorder: Option<Recorder>,
    of_shapes: Vec<WorkOfShapes>,
    problem: Option<CudaError>,
}

/// The work for inputs of certain shapes.
#[derive(Debug)]
struct WorkOfShapes {
    /// Where the work finds its inputs.
    inputs: Vec<Tensor>,
    times: usize,
    tape: Option<Box<dyn Tape>>,
}

impl Recording {
    /// How often work is done as it comes before it is recorded.
    pub const WARM_UP: usize = 3;

    pub fn on(device: Device, is_wanted: bool) -> Self {
        Self::with((device.is_cuda() && is_wanted).then_some(graph))
    }

    pub(crate) fn with(recorder: Option<Recorder>) -> Self {
        Self {
            recorder,
            of_shapes: Vec::new(),
            problem: None,
        }
    }

    /// Does `work` on `inputs`, once; returns what it makes, in memory of its own.
    ///
    /// `work` must be the same in each call but for the numbers in its inputs and in the tensors that it
    /// otherwise reads and writes, and those must stay where they are.
    pub fn call(
        &mut self,
        inputs: &[&Tensor],
        mut work: impl FnMut(&[&Tensor]) -> Vec<Tensor>,
    ) -> Vec<Tensor> {
        let Some(recorder) = self.recorder else {
            return work(inputs);
        };
        let is_same = |(a, b): (&Tensor, &&Tensor)| a.size() == b.size() && a.kind() == b.kind();
        let fits = |known: &WorkOfShapes| {
            let both = known.inputs.iter().zip(inputs);
            known.inputs.len() == inputs.len() && both.into_iter().all(is_same)
        };
        let known = self.of_shapes.iter().position(fits).unwrap_or_else(|| {
            self.of_shapes.push(WorkOfShapes {
                inputs: inputs.iter().map(|input| input.copy()).collect(),
                times: 0,
                tape: None,
            });
            self.of_shapes.len() - 1
        });
        let WorkOfShapes {
            inputs: own,
            times,
            tape,
        } = &mut self.of_shapes[known];
        for (place, input) in own.iter_mut().zip(inputs) {
            place.copy_(input);
        }
        let own: Vec<&Tensor> = own.iter().collect();
        let mut work = || work(&own);
        if *times < Self::WARM_UP {
            *times += 1;
            return work();
        }
        // The next replay does not overwrite what is handed out.
        let copies = |made: &[Tensor]| made.iter().map(copy).collect();
        let replayed = match tape {
            Some(tape) => tape.replay(&mut work).map(copies),
            None => {
                recorder(&mut work).and_then(|new| tape.insert(new).replay(&mut work).map(copies))
            }
        };
        match replayed {
            Ok(made) => made,
            Err(problem) => {
                // Nothing of it has been done: what failed was to take it down, or to queue it.
                let made = work();
                self.problem = Some(problem);
                self.recorder = None;
                self.of_shapes.clear();
                made
            }
        }
    }

    /// Why the work is no longer recorded, if it should be; once.
    pub fn problem(&mut self) -> Option<CudaError> {
        self.problem.take()
    }
}

/// Keeps the rules of recordings on the CPU: what is made lies where it lay the last time.
#[cfg(test)]
#[expect(clippy::unnecessary_wraps, reason = "so are recorders")]
pub(crate) fn places(_: &mut dyn FnMut() -> Vec<Tensor>) -> Result<Box<dyn Tape>, CudaError> {
    #[derive(Debug, Default)]
    struct Places(Vec<Tensor>);

    impl Tape for Places {
        fn replay(
            &mut self,
            work: &mut dyn FnMut() -> Vec<Tensor>,
        ) -> Result<&[Tensor], CudaError> {
            let made = work();
            if self.0.is_empty() {
                self.0 = made;
            } else {
                for (place, made) in self.0.iter_mut().zip(made) {
                    place.copy_(&made);
                }
            }
            Ok(&self.0)
        }
    }

    Ok(Box::<Places>::default())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use tch::Kind;

    use super::*;

    fn numbers(values: &[f32]) -> Tensor {
        Tensor::from_slice(values)
    }

    fn floats(tensor: &Tensor) -> Vec<f32> {
        Vec::try_from(tensor).unwrap()
    }

    /// Recorded or not, work is done once a call, on the inputs of that call, and what was handed out stays.
    #[test]
    fn replays_do_what_the_work_does() {
        let sum_of_calls = |recorder: Option<Recorder>| {
            let mut recording = Recording::with(recorder);
            let mut state = numbers(&[0.0, 0.0]);
            let mut handed_out = Vec::new();
            for call in 0..6 {
                for rows in [1, 2] {
                    let input = numbers(&[call as f32, 1.0]).repeat([rows, 1]);
                    handed_out.extend(recording.call(&[&input], |inputs| {
                        let sum = inputs[0].sum_dim_intlist(0, false, Kind::Float);
                        state += &sum;
                        vec![&state + &sum * 2.0]
                    }));
                }
            }
            assert!(recording.problem().is_none());
            let all: Vec<Vec<f32>> = handed_out.iter().map(floats).collect();
            (floats(&state), all)
        };
        let (plain, recorded) = (sum_of_calls(None), sum_of_calls(Some(places)));
        assert_eq!(plain.0, [45.0, 18.0]);
        assert_eq!(plain, recorded);
    }

    #[test]
    fn what_cannot_be_recorded_is_done_as_it_comes_and_the_reason_is_said_once() {
        let mut recording = Recording::with(Some(|_| Err(CudaError("no".to_owned()))));
        let (times, mut problems) = (Cell::new(0), Vec::new());
        for call in 1..=6 {
            let made = recording.call(&[&numbers(&[call as f32])], |inputs| {
                times.set(times.get() + 1);
                vec![inputs[0] * 2.0]
            });
            assert_eq!(floats(&made[0]), [2.0 * call as f32]);
            problems.extend(recording.problem());
        }
        assert_eq!(times.get(), 6);
        assert_eq!(problems, [CudaError("no".to_owned())]);
    }
}
