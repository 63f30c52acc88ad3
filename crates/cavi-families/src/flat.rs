//! The flat density, 1 everywhere (on a simplex: in its first K - 1 coordinates). It is improper, for points only.

use cavi_algebra::{Sum, Support, Symbols};
use rand::RngCore;

use crate::draws::Value;
use crate::family::{Argument, DataKind, Family, Location, Parameter, Slices, Target};

/// `Flat(real)`, `Flat(nonnegative)`, `Flat(simplex)`: the word is read by the resolver, and is not a parameter.
pub struct Flat;

impl Family for Flat {
    fn name(&self) -> &'static str {
        "Flat"
    }

    fn parameters(&self) -> &'static [Parameter] {
        &[]
    }

    fn slices(&self) -> Slices {
        Slices::Any
    }

    fn data(&self) -> DataKind {
        DataKind::None
    }

    fn latent(&self) -> Option<Support> {
        Some(Support::Real)
    }

    fn only_point(&self) -> bool {
        true
    }

    fn location(&self) -> Location {
        Location::Anywhere
    }

    fn log_density(&self, _symbols: &mut Symbols, _target: &Target, _parameters: &[Option<Argument>]) -> Sum {
        Sum::zero()
    }

    fn draw(
        &self,
        _parameters: &[Option<Value<'_>>],
        _rng: &mut dyn RngCore,
        _out: &mut [f64],
    ) -> Result<(), String> {
        Err("it is flat: there is no distribution to draw from".to_owned())
    }
}
