//! Work on tensors that is done again and again with other numbers: recorded once, then replayed.
//!
//! A small network asks for a hundred kernels a gradient step, and to queue each takes the host longer than
//! the device needs for it. Replaying them is one call.

use tch::{Device, Tensor};

use super::{CudaError, Graph};

/// Makes recordings: CUDA's, or in tests one that only keeps the rules.
pub trait Recorder: Send + std::fmt::Debug {
    /// Takes down what `work` does, without doing it. `work` makes tensors of the same places on each replay,
    /// waits for nothing, and reads no number on the host.
    ///
    /// # Errors
    /// Work that cannot be taken down.
    fn record(&self, work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<Box<dyn Tape>, CudaError>;
}

/// Work that has been taken down.
pub trait Tape: Send + std::fmt::Debug {
    /// Does it; what it made lies where it lay the last time. `work` is the same that was recorded.
    ///
    /// # Errors
    /// What CUDA says.
    fn replay(&mut self, work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<&[Tensor], CudaError>;
}

/// CUDA graphs.
#[derive(Debug)]
struct Graphs;

#[derive(Debug)]
struct GraphTape {
    graph: Graph,
    made: Vec<Tensor>,
}

impl Recorder for Graphs {
    fn record(&self, work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<Box<dyn Tape>, CudaError> {
        let (graph, made) = Graph::record(work)?;
        Ok(Box::new(GraphTape { graph, made }))
    }
}

impl Tape for GraphTape {
    fn replay(&mut self, _work: &mut dyn FnMut() -> Vec<Tensor>) -> Result<&[Tensor], CudaError> {
        self.graph.replay()?;
        Ok(&self.made)
    }
}

/// One piece of work, done many times.
///
/// It is done as it comes on the CPU; on a CUDA device it is done so [`Recording::WARM_UP`] times for
/// inputs of each shape, while libraries choose their algorithms, and recorded then. Where that fails it is
/// done as it comes, and [`Recording::problem`] says why.
#[derive(Debug)]
pub struct Recording {
    recorder: Option<Box<dyn Recorder>>,
    takes: Vec<Take>,
    problem: Option<CudaError>,
}

/// The work for inputs of certain shapes.
#[derive(Debug)]
struct Take {
    /// Where the work finds its inputs.
    inputs: Vec<Tensor>,
    times: usize,
    tape: Option<Box<dyn Tape>>,
}

impl Recording {
    /// How often work is done as it comes before it is recorded.
    pub const WARM_UP: usize = 3;

    /// For work on `device`; `is_wanted` or not.
    #[must_use]
    pub fn on(device: Device, is_wanted: bool) -> Self {
        let recorder: Option<Box<dyn Recorder>> = if device.is_cuda() && is_wanted {
            Some(Box::new(Graphs))
        } else {
            None
        };
        Self::with(recorder)
    }

    /// With a recorder, or none.
    #[must_use]
    pub fn with(recorder: Option<Box<dyn Recorder>>) -> Self {
        Self {
            recorder,
            takes: Vec::new(),
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
        let Some(recorder) = &self.recorder else {
            return work(inputs);
        };
        let shapes = |take: &Take| {
            let both = take.inputs.iter().zip(inputs);
            let mut same = both.map(|(a, b)| a.size() == b.size() && a.kind() == b.kind());
            take.inputs.len() == inputs.len() && same.all(|same| same)
        };
        let place = self.takes.iter().position(shapes).unwrap_or_else(|| {
            let inputs = inputs.iter().map(|input| input.copy()).collect();
            self.takes.push(Take {
                inputs,
                times: 0,
                tape: None,
            });
            self.takes.len() - 1
        });
        let Take {
            inputs: own,
            times,
            tape,
        } = &mut self.takes[place];
        for (place, input) in own.iter_mut().zip(inputs) {
            place.copy_(input);
        }
        let own: Vec<&Tensor> = own.iter().collect();
        let mut work = || work(&own);
        if *times < Self::WARM_UP {
            *times += 1;
            return work();
        }
        let replayed = match tape {
            Some(tape) => tape.replay(&mut work).map(copies),
            None => recorder
                .record(&mut work)
                .and_then(|new| tape.insert(new).replay(&mut work).map(copies)),
        };
        match replayed {
            Ok(made) => made,
            Err(problem) => {
                // Nothing of it has been done: what failed was to take it down, or to queue it.
                let made = work();
                self.problem = Some(problem);
                self.recorder = None;
                self.takes.clear();
                made
            }
        }
    }

    /// Why the work is no longer recorded, if it should be; once.
    pub fn problem(&mut self) -> Option<CudaError> {
        self.problem.take()
    }
}

/// What the next replay does not overwrite.
fn copies(made: &[Tensor]) -> Vec<Tensor> {
    let copy = |tensor: &Tensor| tensor.to_device_(tensor.device(), tensor.kind(), false, true);
    made.iter().map(copy).collect()
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
        let sum_of_calls = |recorder: Option<Box<dyn Recorder>>| {
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
        let (plain, recorded) = (sum_of_calls(None), sum_of_calls(Some(Box::new(Places))));
        assert_eq!(plain.0, [45.0, 18.0]);
        assert_eq!(plain, recorded);
    }

    #[test]
    fn what_cannot_be_recorded_is_done_as_it_comes_and_the_reason_is_said_once() {
        #[derive(Debug)]
        struct Fails;
        impl Recorder for Fails {
            fn record(
                &self,
                _work: &mut dyn FnMut() -> Vec<Tensor>,
            ) -> Result<Box<dyn Tape>, CudaError> {
                Err(CudaError("no".to_owned()))
            }
        }
        let mut recording = Recording::with(Some(Box::new(Fails)));
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

/// Keeps the rules of recordings on the CPU: what is made lies where it lay the last time.
#[cfg(test)]
pub(crate) use places::Places;

#[cfg(test)]
mod places {
    use super::{CudaError, Recorder, Tape, Tensor};

    #[derive(Debug)]
    pub(crate) struct Places;

    #[derive(Debug, Default)]
    struct PlacesTape(Vec<Tensor>);

    impl Recorder for Places {
        fn record(
            &self,
            _work: &mut dyn FnMut() -> Vec<Tensor>,
        ) -> Result<Box<dyn Tape>, CudaError> {
            Ok(Box::new(PlacesTape::default()))
        }
    }

    impl Tape for PlacesTape {
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
}
