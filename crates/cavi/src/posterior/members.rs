//! What is written of joint factors beside the parameters by which they are stored: the means of their members.

use cavi_algebra::{BlockId, Elementary, Equations, Statistic};
use cavi_executor::layout::is_one_vector;

use super::{Column, Part, family};

/// The means of members of joint factors that are none of the parameters by which these are stored: that of a precision beside its mean, of
/// a weight beside its switch.
pub(super) fn means(equations: &Equations) -> Vec<Column> {
    let mut columns = Vec::new();
    for (index, block) in equations.blocks.iter().enumerate() {
        let id = BlockId::from(index);
        let joint = block.members.len() > 1 && !is_one_vector(block);
        let Some(family) = family(equations, id).filter(|_| joint) else { continue };
        for (member, variable) in block.members.iter().enumerate() {
            let own = |name: &str| {
                let mut descriptors = family.descriptors().iter().enumerate();
                descriptors.any(|(column, own)| own.name == name && family.member_of(column) == member)
            };
            let Some(statistic) =
                u8::try_from(member).ok().map(|own| Statistic(vec![(own, Elementary::Power(1))]))
            else {
                continue;
            };
            let Some(which) = family.expectation_of(&statistic).filter(|_| !own("mean") && !own("prob"))
            else {
                continue;
            };
            columns.push(Column {
                block: id,
                member,
                variable: *variable,
                parameter: "mean",
                column: usize::MAX,
                defining: false,
                extent: Some(family.expectations()[which].extent),
                part: Part::Whole,
            });
        }
    }
    columns
}
