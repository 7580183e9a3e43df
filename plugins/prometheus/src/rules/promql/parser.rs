//! From tokens to a type, or to what is wrong.

use std::fmt;

use super::binary::{self, Matching, Operator, POWER};
use super::functions::{self, Signature};
use super::token::{Placed, Token};
use super::{Dialect, place};
use crate::check::re2;

/// The deepest nesting: the guest's stack is small, and nobody writes so much.
const DEEPEST: u32 = 100;

/// The longest duration in seconds: what fits into so many nanoseconds.
const LONGEST: f64 = 9.2e9;

/// What an expression gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    Scalar,
    Vector,
    Range,
    Text,
    /// Of a function that is not known here.
    Unknown,
}

impl fmt::Display for Type {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Scalar => "a scalar",
            Self::Vector => "an instant vector",
            Self::Range => "a range vector",
            Self::Text => "a string",
            Self::Unknown => "an unknown function",
        })
    }
}

/// What may follow an expression depends on its form.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Selector,
    Range,
    Subquery,
    Other,
}

#[derive(Clone, Copy, Debug)]
struct Node {
    form: Form,
    gives: Type,
    has_offset: bool,
    has_time: bool,
}

impl Node {
    fn of(form: Form, gives: Type) -> Self {
        Self {
            form,
            gives,
            has_offset: false,
            has_time: false,
        }
    }

    fn other(gives: Type) -> Self {
        Self::of(Form::Other, gives)
    }
}

/// Parses a whole expression.
///
/// # Errors
/// In words, what is wrong and where.
pub(super) fn parse(text: &str, tokens: &[Placed<'_>], dialect: Dialect) -> Result<(), String> {
    let mut parser = Parser {
        text,
        rest: tokens,
        dialect,
        depth: 0,
    };
    if parser.peek() == &Token::End {
        return Err("the expression is empty".to_owned());
    }
    parser.expression(0)?;
    match parser.peek() {
        Token::End => Ok(()),
        _ => Err(parser.unexpected("")),
    }
}

struct Parser<'p, 't> {
    text: &'t str,
    rest: &'p [Placed<'t>],
    dialect: Dialect,
    depth: u32,
}

const END: Placed<'static> = Placed {
    token: Token::End,
    at: usize::MAX,
};

impl<'p, 't> Parser<'p, 't> {
    fn first(&self) -> &Placed<'t> {
        self.rest.first().unwrap_or(&END)
    }

    fn peek(&self) -> &Token<'t> {
        &self.first().token
    }

    fn second(&self) -> &Placed<'t> {
        self.rest.get(1).unwrap_or(&END)
    }

    fn advance(&mut self) {
        self.rest = self.rest.get(1..).unwrap_or_default();
    }

    fn eat(&mut self, symbol: &str) -> bool {
        let found = self.first().is(symbol);
        if found {
            self.advance();
        }
        found
    }

    fn eat_keyword(&mut self, keyword: &str) -> bool {
        let found = self.first().keyword() == keyword;
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, symbol: &str) -> Result<(), String> {
        match self.eat(symbol) {
            true => Ok(()),
            false => Err(self.unexpected(&format!(", expected \"{symbol}\""))),
        }
    }

    fn unexpected(&self, more: &str) -> String {
        let first = self.first();
        format!(
            "unexpected {} at {}{more}",
            first.shown(),
            place(self.text, first.at)
        )
    }

    /// An expression of operators that bind at least so strongly.
    fn expression(&mut self, weakest: u8) -> Result<Node, String> {
        self.depth += 1;
        if self.depth > DEEPEST {
            return Err("it is nested too deeply".to_owned());
        }
        let mut left = self.signed()?;
        while let Some(operator) = self.operator().filter(|found| found.strength >= weakest) {
            let at = place(self.text, self.first().at);
            self.advance();
            let matching = self.matching()?;
            let right = self.expression(operator.right())?;
            let gives = binary::check(operator, &matching, left.gives, right.gives);
            left = Node::other(gives.map_err(|why| format!("{why}, at {at}"))?);
        }
        self.depth -= 1;
        Ok(left)
    }

    fn operator(&self) -> Option<Operator> {
        match self.first().token {
            Token::Symbol(symbol) => Operator::of(symbol),
            Token::Word(_) => Operator::of(&self.first().keyword()),
            _ => None,
        }
    }

    fn matching(&mut self) -> Result<Matching, String> {
        let mut matching = Matching {
            returns_bool: self.eat_keyword("bool"),
            ..Matching::default()
        };
        matching.on = self.eat_keyword("on");
        if !matching.on && !self.eat_keyword("ignoring") {
            return Ok(matching);
        }
        matching.labels = self.labels()?;
        matching.grouped = self.eat_keyword("group_left") || self.eat_keyword("group_right");
        if matching.grouped && self.first().is("(") {
            matching.included = self.labels()?;
        }
        Ok(matching)
    }

    /// `(a, b)`; a comma may stand at the end.
    fn labels(&mut self) -> Result<Vec<String>, String> {
        let mut labels = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            match self.peek() {
                Token::Word(name) => labels.push((*name).to_owned()),
                Token::Text(name) if !name.is_empty() => labels.push(name.clone()),
                _ => return Err(self.unexpected(", expected a label")),
            }
            self.advance();
            if !self.eat(",") && !self.first().is(")") {
                return Err(self.unexpected(", expected \",\" or \")\""));
            }
        }
        Ok(labels)
    }

    fn signed(&mut self) -> Result<Node, String> {
        if !self.eat("+") && !self.eat("-") {
            return self.operand();
        }
        let of = self.expression(POWER)?.gives;
        match of {
            Type::Range | Type::Text => Err(format!("a sign does not go with {of}")),
            _ => Ok(Node::other(of)),
        }
    }

    /// Something with what binds most strongly: ranges, offsets, times.
    fn operand(&mut self) -> Result<Node, String> {
        let mut node = self.primary()?;
        loop {
            if self.eat("[") {
                node = self.range(node)?;
            } else if self.eat_keyword("offset") {
                self.offset(&mut node)?;
            } else if self.eat("@") {
                self.time(&mut node)?;
            } else {
                return Ok(node);
            }
        }
    }

    fn primary(&mut self) -> Result<Node, String> {
        match self.peek() {
            Token::Number(_) | Token::Duration(_) => {
                self.advance();
                Ok(Node::other(Type::Scalar))
            }
            Token::Text(_) => {
                self.advance();
                Ok(Node::other(Type::Text))
            }
            Token::Word(word) => {
                let word = *word;
                self.named(word)
            }
            Token::Symbol("{") => self.selector(None),
            Token::Symbol("(") => {
                self.advance();
                let gives = self.expression(0)?.gives;
                self.expect(")")?;
                Ok(Node::other(gives))
            }
            _ => Err(self.unexpected("")),
        }
    }

    fn named(&mut self, word: &'t str) -> Result<Node, String> {
        let keyword = word.to_ascii_lowercase();
        let before_call = self.second().is("(");
        let grouped = matches!(&*self.second().keyword(), "by" | "without");
        if let Some(parameter) = functions::aggregation(&keyword).filter(|_| before_call || grouped)
        {
            return self.aggregation(&keyword, parameter);
        }
        match &*keyword {
            "inf" | "nan" => {
                self.advance();
                Ok(Node::other(Type::Scalar))
            }
            "on" | "ignoring" | "group_left" | "group_right" | "bool" | "atan2" => {
                Err(self.unexpected(""))
            }
            _ if before_call && !is_keyword(&keyword) && !word.contains(':') => self.call(word),
            _ => {
                self.advance();
                self.selector(Some(word))
            }
        }
    }

    fn aggregation(&mut self, name: &str, parameter: Option<Type>) -> Result<Node, String> {
        functions::is_enabled(name, self.dialect)?;
        self.advance();
        let grouped = self.grouping()?;
        let given = self.arguments()?;
        if !grouped {
            self.grouping()?;
        }
        let wanted: Vec<Type> = parameter.into_iter().chain([Type::Vector]).collect();
        if given.len() != wanted.len() {
            return Err(format!(
                "{name} takes {} arguments, not {}",
                wanted.len(),
                given.len()
            ));
        }
        for (at, (given, wanted)) in given.iter().zip(wanted).enumerate() {
            fits(name, at, *given, wanted)?;
        }
        Ok(Node::other(Type::Vector))
    }

    fn grouping(&mut self) -> Result<bool, String> {
        let found = self.eat_keyword("by") || self.eat_keyword("without");
        if found {
            self.labels()?;
        }
        Ok(found)
    }

    /// The types of `(…, …)`.
    fn arguments(&mut self) -> Result<Vec<Type>, String> {
        let mut types = Vec::new();
        self.expect("(")?;
        if self.eat(")") {
            return Ok(types);
        }
        loop {
            types.push(self.expression(0)?.gives);
            if !self.eat(",") {
                break;
            }
        }
        self.expect(")")?;
        Ok(types)
    }

    fn call(&mut self, name: &str) -> Result<Node, String> {
        let at = place(self.text, self.first().at);
        self.advance();
        let function = functions::function(name, self.dialect);
        let function = function.map_err(|why| format!("{why}, at {at}"))?;
        let given = self.arguments()?;
        match function {
            Some(signature) => {
                fit(name, &signature, &given)?;
                Ok(Node::other(signature.gives))
            }
            None => Ok(Node::other(Type::Unknown)),
        }
    }

    /// A selector whose name, if there is one, was read already.
    fn selector(&mut self, name: Option<&str>) -> Result<Node, String> {
        let node = Node::of(Form::Selector, Type::Vector);
        let named = name.is_some();
        if !self.eat("{") {
            return Ok(node);
        }
        let mut selects = named;
        while !self.eat("}") {
            selects |= self.matcher(named)?;
            if !self.eat(",") && !self.first().is("}") {
                return Err(self.unexpected(", expected \",\" or \"}\""));
            }
        }
        match selects {
            true => Ok(node),
            false => Err("a selector must not choose every series there is".to_owned()),
        }
    }

    /// One matcher; whether it asks for something.
    fn matcher(&mut self, named: bool) -> Result<bool, String> {
        let (label, quoted) = match self.peek() {
            Token::Word(label) => ((*label).to_owned(), false),
            Token::Text(label) => (label.clone(), true),
            _ => return Err(self.unexpected(", expected a label or \"}\"")),
        };
        self.advance();
        let operator = match *self.peek() {
            Token::Symbol(symbol @ ("=" | "!=" | "=~" | "!~")) => symbol,
            _ if quoted => return self.name_within(named),
            _ => return Err(self.unexpected(", expected =, !=, =~ or !~")),
        };
        self.advance();
        let Token::Text(value) = self.peek() else {
            return Err(self.unexpected(", expected a string"));
        };
        let value = value.clone();
        self.advance();
        if operator.ends_with('~') {
            re2::check(&value)?;
        }
        if label == "__name__" {
            self.name_within(named)?;
        }
        Ok(asks(operator, &value))
    }

    /// The name of the series, given between the braces.
    fn name_within(&self, named: bool) -> Result<bool, String> {
        match named {
            true => Err("the name of the series is given twice".to_owned()),
            false => Ok(true),
        }
    }

    /// `5m]`, `5m:1m]` or `5m:]` after an expression.
    fn range(&mut self, of: Node) -> Result<Node, String> {
        self.length()?;
        if self.eat(":") {
            if !self.first().is("]") {
                self.length()?;
            }
            self.expect("]")?;
            return match of.gives {
                Type::Vector | Type::Unknown => Ok(Node::of(Form::Subquery, Type::Range)),
                other => Err(format!(
                    "a subquery is of an instant vector, not of {other}"
                )),
            };
        }
        self.expect("]")?;
        match of.form {
            Form::Selector if of.has_offset => Err("a range stands before the offset".to_owned()),
            Form::Selector if of.has_time => Err("a range stands before the @".to_owned()),
            Form::Selector => Ok(Node::of(Form::Range, Type::Range)),
            _ => Err("a range is of a selector; of anything else write [5m:]".to_owned()),
        }
    }

    fn length(&mut self) -> Result<(), String> {
        match self.quantity()? {
            length if length <= 0.0 => Err("a range must be longer than 0".to_owned()),
            length => in_bounds(length),
        }
    }

    /// A number or duration with its sign.
    fn quantity(&mut self) -> Result<f64, String> {
        let sign = if self.eat("-") { -1.0 } else { 1.0 };
        if sign > 0.0 {
            self.eat("+");
        }
        let value = match *self.peek() {
            Token::Number(value) | Token::Duration(value) => value,
            Token::Word(_) if self.first().keyword() == "nan" => f64::NAN,
            Token::Word(_) if self.first().keyword() == "inf" => f64::INFINITY,
            _ => return Err(self.unexpected(", expected a number or a duration")),
        };
        self.advance();
        Ok(sign * value)
    }

    fn offset(&mut self, of: &mut Node) -> Result<(), String> {
        if of.form == Form::Other {
            return Err("offset follows a selector, a range or a subquery".to_owned());
        }
        if of.has_offset {
            return Err("offset is given twice".to_owned());
        }
        let offset = self.quantity()?;
        of.has_offset = offset != 0.0;
        in_bounds(offset)
    }

    fn time(&mut self, of: &mut Node) -> Result<(), String> {
        if of.form == Form::Other {
            return Err("@ follows a selector, a range or a subquery".to_owned());
        }
        if of.has_time {
            return Err("@ is given twice".to_owned());
        }
        of.has_time = true;
        if self.eat_keyword("start") || self.eat_keyword("end") {
            self.expect("(")?;
            return self.expect(")");
        }
        match self.quantity()? {
            time if time.is_finite() => Ok(()),
            _ => Err("the time after @ is out of bounds".to_owned()),
        }
    }
}

fn in_bounds(seconds: f64) -> Result<(), String> {
    match seconds.abs() > LONGEST {
        true => Err(format!("{seconds} s are too long")),
        false => Ok(()),
    }
}

/// Words that are no function, though a metric may be called so.
fn is_keyword(word: &str) -> bool {
    functions::aggregation(word).is_some()
        || matches!(
            word,
            "and" | "or" | "unless" | "by" | "without" | "offset" | "start" | "end"
        )
}

/// Whether a matcher leaves out series that lack the label. Which regular expressions match nothing is only guessed:
/// what is let through is told by Prometheus.
fn asks(operator: &str, value: &str) -> bool {
    let plain = |part: &str| !part.is_empty() && part.chars().all(char::is_alphanumeric);
    match operator {
        "=" => !value.is_empty(),
        "!=" => value.is_empty(),
        "=~" => !matches!(value, "" | ".*"),
        _ => value != ".+" && !value.split('|').all(plain),
    }
}

fn fit(name: &str, signature: &Signature, given: &[Type]) -> Result<(), String> {
    let (types, least, most) = signature.arguments();
    if given.len() < least || given.len() > most {
        let wanted = match (least, most) {
            (least, usize::MAX) => format!("at least {least}"),
            (least, most) if least == most => least.to_string(),
            (least, most) => format!("{least} to {most}"),
        };
        return Err(format!(
            "{name} takes {wanted} arguments, not {}",
            given.len()
        ));
    }
    for (at, given) in given.iter().enumerate() {
        if let Some(wanted) = types.get(at).or(types.last()) {
            fits(name, at, *given, *wanted)?;
        }
    }
    Ok(())
}

fn fits(name: &str, at: usize, given: Type, wanted: Type) -> Result<(), String> {
    match given == wanted || given == Type::Unknown {
        true => Ok(()),
        false => Err(format!(
            "argument {} of {name} is {given}, not {wanted}",
            at + 1
        )),
    }
}
