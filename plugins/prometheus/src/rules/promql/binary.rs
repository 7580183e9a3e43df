//! Operators between two operands.

use super::parser::Type;

/// An operator and how strongly it binds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Operator {
    pub(super) name: &'static str,
    pub(super) strength: u8,
}

/// As strong as a sign: it takes what binds more strongly only.
pub(super) const POWER: u8 = 6;

const OPERATORS: [(&str, u8); 16] = [
    ("or", 1),
    ("and", 2),
    ("unless", 2),
    ("==", 3),
    ("!=", 3),
    ("<=", 3),
    ("<", 3),
    (">=", 3),
    (">", 3),
    ("+", 4),
    ("-", 4),
    ("*", 5),
    ("/", 5),
    ("%", 5),
    ("atan2", 5),
    ("^", POWER),
];

impl Operator {
    pub(super) fn of(text: &str) -> Option<Self> {
        let (name, strength) = *OPERATORS.iter().find(|(name, _)| *name == text)?;
        Some(Self { name, strength })
    }

    /// How strongly what stands on its right must bind.
    pub(super) fn right(self) -> u8 {
        self.strength + u8::from(self.strength != POWER)
    }

    fn is_set(self) -> bool {
        self.strength <= 2
    }

    fn compares(self) -> bool {
        self.strength == 3
    }
}

/// What stands between an operator and its right operand.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Matching {
    pub(super) returns_bool: bool,
    pub(super) on: bool,
    pub(super) labels: Vec<String>,
    pub(super) grouped: bool,
    pub(super) included: Vec<String>,
}

/// The type of a whole expression.
///
/// # Errors
/// In words, when the operands do not go together.
pub(super) fn check(
    operator: Operator,
    matching: &Matching,
    left: Type,
    right: Type,
) -> Result<Type, String> {
    let name = operator.name;
    let is_operand = |of: Type| matches!(of, Type::Scalar | Type::Vector | Type::Unknown);
    let scalar = |of: Type| of == Type::Scalar;
    let both_scalar = scalar(left) && scalar(right);
    let vectors = !scalar(left) && !scalar(right);
    let twice = matching
        .included
        .iter()
        .find(|label| matching.labels.contains(label));
    match () {
        () if !is_operand(left) || !is_operand(right) => {
            let wrong = if is_operand(left) { right } else { left };
            Err(format!("\"{name}\" does not go with {wrong}"))
        }
        () if matching.returns_bool && !operator.compares() => Err(format!(
            "bool goes with comparisons only, not with \"{name}\""
        )),
        () if operator.compares() && both_scalar && !matching.returns_bool => Err(format!(
            "\"{name}\" between two scalars must be \"{name} bool\""
        )),
        () if operator.is_set() && !vectors => {
            Err(format!("\"{name}\" goes with instant vectors only"))
        }
        () if !vectors && !matching.labels.is_empty() => {
            Err("on and ignoring go between instant vectors only".to_owned())
        }
        () if vectors && operator.is_set() && matching.grouped => Err(format!(
            "group_left and group_right do not go with \"{name}\""
        )),
        () if matching.on && twice.is_some() => {
            let label = twice.map(String::as_str).unwrap_or_default();
            Err(format!(
                "the label \"{label}\" stands in on and in group at once"
            ))
        }
        () if both_scalar => Ok(Type::Scalar),
        () => Ok(Type::Vector),
    }
}
