//! Linear equations `A x = b` by GMRES, from products of A with vectors alone.
//!
//! After `m` products the solution is the one of least residual `|b - A x|` among the combinations of `b, A b, ..., A^(m - 1) b`. An orthonormal
//! basis of these is built one vector at a time (Arnoldi, modified Gram-Schmidt, twice), in which A is a matrix H with one row more than columns;
//! rotations of Givens keep H triangular, and with it the residual known.
//!
//! # Source
//! Saad and Schultz (1986), GMRES: a generalized minimal residual algorithm for solving nonsymmetric linear systems.

/// A solution and how good it is.
#[derive(Clone, Debug)]
pub(super) struct Solution {
    /// x
    pub x: Vec<f64>,
    /// `|b - A x| / |b|` by the recurrence; 0 where b is 0.
    pub residual: f64,
}

/// Solves `A x = b` from 0, with at most so many products, until the residual is below `tolerance` times `|b|`.
///
/// # Errors
/// Those of a product.
pub(super) fn gmres<E>(
    product: &mut dyn FnMut(&[f64]) -> Result<Vec<f64>, E>,
    b: &[f64],
    tolerance: f64,
    most: usize,
) -> Result<Solution, E> {
    let length = norm(b);
    if length == 0.0 {
        return Ok(Solution { x: vec![0.0; b.len()], residual: 0.0 });
    }
    let mut basis: Vec<Vec<f64>> = vec![b.iter().map(|own| own / length).collect()];
    // Columns of the triangle that H is turned into, the rotations, and the right side turned with it.
    let mut triangle: Vec<Vec<f64>> = Vec::new();
    let mut rotations: Vec<(f64, f64)> = Vec::new();
    let mut right = vec![length];
    while triangle.len() < most.min(b.len()) && right[triangle.len()].abs() > tolerance * length {
        let step = triangle.len();
        let mut next = product(&basis[step])?;
        let mut column = vec![0.0; step + 2];
        for _ in 0..2 {
            for (own, entry) in basis.iter().zip(&mut column) {
                let along = dot(own, &next);
                *entry += along;
                next.iter_mut().zip(own).for_each(|(next, own)| *next -= along * own);
            }
        }
        let rest = norm(&next);
        column[step + 1] = rest;
        for (place, (cosine, sine)) in rotations.iter().enumerate() {
            let (one, other) = (column[place], column[place + 1]);
            column[place] = cosine * one + sine * other;
            column[place + 1] = cosine * other - sine * one;
        }
        let radius = column[step].hypot(rest);
        if radius == 0.0 {
            break;
        }
        let (cosine, sine) = (column[step] / radius, rest / radius);
        rotations.push((cosine, sine));
        column.truncate(step + 1);
        column[step] = radius;
        triangle.push(column);
        right.push(-sine * right[step]);
        right[step] *= cosine;
        if rest <= f64::EPSILON * radius {
            break;
        }
        basis.push(next.into_iter().map(|own| own / rest).collect());
    }
    let count = triangle.len();
    let mut weights = right[..count].to_vec();
    for row in (0..count).rev() {
        for column in row + 1..count {
            weights[row] -= triangle[column][row] * weights[column];
        }
        weights[row] /= triangle[row][row];
    }
    let mut x = vec![0.0; b.len()];
    for (own, weight) in basis.iter().zip(&weights) {
        x.iter_mut().zip(own).for_each(|(x, own)| *x += weight * own);
    }
    Ok(Solution { x, residual: right[count].abs() / length })
}

fn dot(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn norm(own: &[f64]) -> f64 {
    dot(own, own).sqrt()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equations_are_solved_in_as_many_products_as_unknowns() {
        // [4 1 0; 2 3 1; 0 1 5] (1, 2, 3) = (6, 11, 17).
        let mut products = 0;
        let mut product = |v: &[f64]| {
            products += 1;
            Ok::<_, ()>(vec![4.0 * v[0] + v[1], 2.0 * v[0] + 3.0 * v[1] + v[2], v[1] + 5.0 * v[2]])
        };
        let found = gmres(&mut product, &[6.0, 11.0, 17.0], 1e-14, 50).unwrap();
        assert!(found.residual < 1e-12);
        assert!(found.x.iter().zip([1.0, 2.0, 3.0]).all(|(x, own)| (x - own).abs() < 1e-12));
        let nothing = gmres(&mut product, &[0.0; 3], 1e-14, 50).unwrap();
        assert_eq!(nothing.x, [0.0; 3]);
        assert!(products <= 3, "{products} products");
    }

    #[test]
    fn the_identity_takes_one_product_and_an_error_is_handed_on() {
        let found = gmres(&mut |v: &[f64]| Ok::<_, ()>(v.to_vec()), &[3.0, -4.0], 1e-14, 1).unwrap();
        assert_eq!(found.x, [3.0, -4.0]);
        assert_eq!(gmres(&mut |_: &[f64]| Err("no"), &[1.0], 1e-9, 9).unwrap_err(), "no");
    }

    #[test]
    fn few_products_leave_the_least_residual() {
        let diagonal = [1.0, 10.0, 100.0];
        let mut product =
            |v: &[f64]| Ok::<_, ()>(v.iter().zip(diagonal).map(|(v, d)| v * d).collect::<Vec<_>>());
        let found = gmres(&mut product, &[1.0; 3], 1e-14, 1).unwrap();
        let left: Vec<f64> = found.x.iter().zip(diagonal).map(|(x, d)| 1.0 - d * x).collect();
        assert!((norm(&left) / norm(&[1.0; 3]) - found.residual).abs() < 1e-12);
    }
}
