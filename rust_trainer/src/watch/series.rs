//! [`Series`]: the numbers of a whole run in bounded memory.

/// Points that are kept at most; a terminal has fewer columns of dots.
const MOST: usize = 2048;

/// A value, and when it was one.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Point {
    /// Agent step.
    pub step: f64,
    /// Seconds of training.
    pub seconds: f64,
    pub value: f64,
}

/// A line of points. Where they would be too many, two neighbours become their mean: opening a run of a hundred million
/// steps takes no more memory, and drawing it no more time, than one of a million.
#[derive(Clone, Debug)]
pub(super) struct Series {
    points: Vec<Point>,
    /// So many values make a point.
    per_point: u32,
    sum: Point,
    in_sum: u32,
    last: Option<Point>,
}

impl Default for Series {
    fn default() -> Self {
        Self {
            points: Vec::new(),
            per_point: 1,
            sum: Point::default(),
            in_sum: 0,
            last: None,
        }
    }
}

impl Series {
    /// Appends a value; what is no number is left out.
    pub fn push(&mut self, point: Point) {
        if !point.value.is_finite() {
            return;
        }
        self.last = Some(point);
        self.sum = sum(self.sum, point);
        self.in_sum += 1;
        if self.in_sum < self.per_point {
            return;
        }
        self.points.push(scaled(self.sum, self.in_sum));
        (self.sum, self.in_sum) = (Point::default(), 0);
        if self.points.len() >= MOST {
            let pairs = self.points.chunks_exact(2);
            self.points = pairs.map(|pair| scaled(sum(pair[0], pair[1]), 2)).collect();
            self.per_point *= 2;
        }
    }

    /// The points, and as it is the value that came last.
    pub fn points(&self) -> impl Iterator<Item = Point> + '_ {
        self.points.iter().copied().chain(self.last)
    }

    /// The value that came last.
    pub fn last(&self) -> Option<Point> {
        self.last
    }

    /// The means of `count` parts of equally many points, or fewer parts where there are fewer points.
    pub fn parts(&self, count: usize) -> Vec<f64> {
        let values: Vec<f64> = self.points.iter().map(|point| point.value).collect();
        let count = count.min(values.len());
        let part = |index: usize| {
            let part = &values[index * values.len() / count..(index + 1) * values.len() / count];
            part.iter().sum::<f64>() / part.len() as f64
        };
        (0..count).map(part).collect()
    }
}

fn sum(one: Point, other: Point) -> Point {
    Point {
        step: one.step + other.step,
        seconds: one.seconds + other.seconds,
        value: one.value + other.value,
    }
}

fn scaled(sum: Point, count: u32) -> Point {
    let share = 1.0 / f64::from(count);
    Point {
        step: sum.step * share,
        seconds: sum.seconds * share,
        value: sum.value * share,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_values_become_few_points_of_the_same_mean() {
        let mut series = Series::default();
        let count = 100_000;
        for step in 0..count {
            let step = f64::from(step);
            series.push(Point {
                step,
                seconds: step / 100.0,
                value: 3.0 * step,
            });
        }
        series.push(Point {
            value: f64::NAN,
            ..Point::default()
        });
        let points: Vec<Point> = series.points().collect();
        assert!(
            points.len() <= MOST && points.len() > MOST / 2 - 1,
            "{}",
            points.len()
        );
        for point in &points {
            assert!(
                (point.value - 3.0 * point.step).abs() < 1e-6,
                "on the line: {point:?}"
            );
            assert!((point.seconds - point.step / 100.0).abs() < 1e-6);
        }
        assert!(points.is_sorted_by(|one, next| one.step < next.step));
        let last = series.last().map(|point| point.step);
        assert_eq!(last, Some(f64::from(count - 1)));
    }

    #[test]
    fn parts_are_means_in_order() {
        let mut series = Series::default();
        for value in [1.0, 3.0, 5.0, 7.0] {
            series.push(Point {
                value,
                ..Point::default()
            });
        }
        assert_eq!(series.parts(2), [2.0, 6.0]);
        assert_eq!(series.parts(9), [1.0, 3.0, 5.0, 7.0]);
        assert!(Series::default().parts(3).is_empty());
    }
}
