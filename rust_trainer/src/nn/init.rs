//! How weights start.

use rand::Rng;
use rand_distr::{Distribution, StandardNormal};
use tch::Tensor;

/// A matrix with orthonormal rows or columns times `gain`, float32 in `shape`; all axes behind the first
/// count as columns.
///
/// Q of the QR decomposition of a normal matrix, made unique by the signs of R's diagonal (Saxe et al.
/// 2014, as `torch.nn.init.orthogonal_`).
pub(super) fn orthogonal(shape: &[i64], gain: f64, rng: &mut dyn Rng) -> Tensor {
    let numel: i64 = shape.iter().product();
    let rows = shape[0];
    let columns = numel / rows;
    let normal: Vec<f32> = StandardNormal
        .sample_iter(rng)
        .take(numel as usize)
        .collect();
    let normal = Tensor::from_slice(&normal).view([rows.max(columns), rows.min(columns)]);
    let (q, r) = Tensor::linalg_qr(&normal, "reduced");
    let q = q * r.diagonal(0, 0, 1).sign();
    let q = if rows < columns { q.tr() } else { q };
    (q * gain).reshape(shape)
}
