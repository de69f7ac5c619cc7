//! Observations that a network sees.

use tch::Tensor;

/// Observations, `[rows, ...]`: all rows of a tensor, or those at some places of it, which are copied where somebody wants
/// them in a row, and else read where they lie.
///
/// A graph that is made of them reads them once more as it is gone back through: until then their tensor stays as it is.
#[derive(Debug, Default)]
pub struct Observed {
    all: Tensor,
    places: Option<Vec<i64>>,
}

impl Observed {
    /// The rows of a tensor at these places, in their order.
    pub(crate) fn at(all: Tensor, places: Vec<i64>) -> Self {
        let places = Some(places);
        Self { all, places }
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> i64 {
        let all = || self.all.size().first().copied().unwrap_or(0);
        (self.places.as_ref()).map_or_else(all, |places| places.len() as i64)
    }

    /// A tensor of them alone, images as they lie in memory.
    pub fn tensor(&self) -> Tensor {
        let Some(places) = &self.places else {
            return self.all.shallow_clone();
        };
        let places = Tensor::from_slice(places).to_device(self.all.device());
        if self.all.dim() == 4 {
            let pixels = self.all.permute([0, 2, 3, 1]);
            return pixels.index_select(0, &places).permute([0, 3, 1, 2]);
        }
        self.all.index_select(0, &places)
    }

    /// The tensor, and which of its rows.
    pub(super) fn rows(&self) -> (&Tensor, Option<&[i64]>) {
        (&self.all, self.places.as_deref())
    }
}

impl From<&Tensor> for Observed {
    fn from(all: &Tensor) -> Self {
        Self {
            all: all.shallow_clone(),
            places: None,
        }
    }
}

impl From<&Self> for Observed {
    fn from(observed: &Self) -> Self {
        Self {
            all: observed.all.shallow_clone(),
            places: observed.places.clone(),
        }
    }
}
