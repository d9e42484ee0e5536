//! Recursive-descent parser of the language.

use core::ops::Range;

use super::error::{Error, Expected, Problem};
use super::expression::Operation;
use super::field::Values;
use super::token::{self, Sign, Spanned, Token};
use super::{Comparator, Expression, Field, Period, Plan};

/// A resolver of names.
pub trait Names {
    /// Returns the addresses of the symbol with this name.
    fn symbol(&self, name: &str) -> Option<Range<u64>>;

    /// Returns the number of the event with this name: 0 to 63.
    fn event(&self, name: &str) -> Option<u8>;
}

/// A resolver that knows no names, so that addresses must be numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn symbol(&self, _: &str) -> Option<Range<u64>> {
        None
    }

    fn event(&self, _: &str) -> Option<u8> {
        None
    }
}

/// Maximum nesting of parentheses and `!`.
const DEEPEST: u32 = 32;

pub(super) fn plan<'t>(text: &'t str, names: &dyn Names) -> Result<'t, Plan> {
    let mut parser = Parser { text, names, token: token::next(text, 0)? };
    parser.plan()
}

struct Parser<'t, 'n> {
    text: &'t str,
    names: &'n dyn Names,
    /// The next token.
    token: Spanned<'t>,
}

/// An address, and the range of its symbol.
struct Address {
    at: u64,
    extent: Option<Range<u64>>,
}

type Result<'t, T> = core::result::Result<T, Error<'t>>;

impl<'t> Parser<'t, '_> {
    fn plan(&mut self) -> Result<'t, Plan> {
        let mut plan = Plan::default();
        let mut has_any = false;
        loop {
            let clause = self.token;
            match clause.token {
                Token::End if has_any => return Ok(plan),
                Token::End => return Err(self.wrong(clause, Problem::Nothing)),
                Token::Sign(Sign::Semicolon) => self.step()?,
                Token::Word("start") => {
                    self.step()?;
                    self.point(&mut plan.start)?;
                }
                Token::Word("stop") => {
                    self.step()?;
                    self.point(&mut plan.stop)?;
                }
                Token::Word("for") => {
                    if plan.period.is_some() {
                        return Err(self.wrong(clause, Problem::Twice("for")));
                    }
                    self.step()?;
                    plan.period = Some(self.period()?);
                }
                _ if !plan.when.is_empty() && is_operand(clause.token) => {
                    return Err(self.wrong(clause, Problem::Twice("test")));
                }
                _ => {
                    let expected = if has_any { Expected::Combination } else { Expected::Clause };
                    if !is_operand(clause.token) {
                        return Err(self.unexpected(expected));
                    }
                    self.either(&mut plan.when, 0)?;
                }
            }
            has_any |= clause.token != Token::Sign(Sign::Semicolon);
        }
    }

    /// Parses where tracing starts or stops.
    fn point(&mut self, to: &mut Expression) -> Result<'t, ()> {
        let keyword = self.token;
        let mut point = Expression::default();
        match keyword.token {
            Token::Word("at") => {
                self.step()?;
                self.list(&mut point, Field::Pc, false)?;
            }
            Token::Word("on") => {
                self.step()?;
                // `on event NAME` is accepted, too.
                if self.token.token == Token::Word("event") {
                    self.step()?;
                }
                self.event(&mut point)?;
            }
            Token::Word("when") => {
                self.step()?;
                self.either(&mut point, 0)?;
            }
            _ => return Err(self.unexpected(Expected::Point)),
        }
        if to.or(&point) { Ok(()) } else { Err(self.wrong(keyword, Problem::TooMany)) }
    }

    fn period(&mut self) -> Result<'t, Period> {
        let Token::Number(count) = self.token.token else { return Err(self.unexpected(Expected::Number)) };
        if count == 0 {
            return Err(self.wrong(self.token, Problem::Nothing));
        }
        self.step()?;
        let period = match self.token.token {
            Token::Word("instructions" | "instruction") => Period::Instructions(count),
            Token::Word("cycles" | "cycle") => Period::Cycles(count),
            _ => return Err(self.unexpected(Expected::Unit)),
        };
        self.step()?;
        Ok(period)
    }

    fn either(&mut self, to: &mut Expression, depth: u32) -> Result<'t, ()> {
        self.both(to, depth)?;
        while let Some(sign) = self.next_if(Sign::Or)? {
            self.both(to, depth)?;
            self.push(to, Operation::Or, sign)?;
        }
        Ok(())
    }

    fn both(&mut self, to: &mut Expression, depth: u32) -> Result<'t, ()> {
        self.one(to, depth)?;
        while let Some(sign) = self.next_if(Sign::And)? {
            self.one(to, depth)?;
            self.push(to, Operation::And, sign)?;
        }
        Ok(())
    }

    fn one(&mut self, to: &mut Expression, depth: u32) -> Result<'t, ()> {
        let first = self.token;
        if depth > DEEPEST {
            return Err(self.wrong(first, Problem::TooDeep));
        }
        match first.token {
            Token::Sign(Sign::Not) => {
                self.step()?;
                self.one(to, depth + 1)?;
                self.push(to, Operation::Not, first)
            }
            Token::Sign(Sign::Open) => {
                self.step()?;
                self.either(to, depth + 1)?;
                self.close()
            }
            Token::Word(word) => match Field::of(word) {
                Some(field) => {
                    self.step()?;
                    self.test(to, field, first)
                }
                None => Err(self.unexpected(Expected::Test)),
            },
            _ => Err(self.unexpected(Expected::Test)),
        }
    }

    fn test(&mut self, to: &mut Expression, field: Field, name: Spanned<'t>) -> Result<'t, ()> {
        match field.values() {
            Values::Flag => return self.push(to, Operation::Test(field, Comparator::Match(1)), name),
            Values::Events => return self.event(to),
            Values::Addresses | Values::Numbers | Values::Words(_) => {}
        }
        let sign = self.token;
        match sign.token {
            Token::Word("in") => {
                self.step()?;
                self.list(to, field, true)
            }
            Token::Sign(Sign::Equal) => {
                self.step()?;
                self.list(to, field, false)
            }
            Token::Sign(Sign::NotEqual) => {
                self.step()?;
                let at = self.token;
                let value = self.value(field)?.at;
                self.compare(to, field, Comparator::Match(value), at)?;
                self.push(to, Operation::Not, sign)
            }
            Token::Sign(order @ (Sign::Less | Sign::LessEqual | Sign::Greater | Sign::GreaterEqual)) => {
                self.step()?;
                let at = self.token;
                let value = self.value(field)?.at;
                let range = match order {
                    Sign::Less => value.checked_sub(1).map(|most| (0, most)),
                    Sign::LessEqual => Some((0, value)),
                    Sign::Greater => value.checked_add(1).map(|least| (least, u64::MAX)),
                    _ => Some((value, u64::MAX)),
                };
                let (least, most) = range.ok_or_else(|| self.wrong(at, Problem::Empty))?;
                self.compare(to, field, Comparator::Range(least, most), at)
            }
            _ => Err(self.unexpected(Expected::Comparison(field))),
        }
    }

    /// Parses a list of values or ranges, any of which may match.
    fn list(&mut self, to: &mut Expression, field: Field, has_ranges: bool) -> Result<'t, ()> {
        let first = self.token;
        self.item(to, field, has_ranges)?;
        loop {
            match self.token.token {
                Token::Sign(Sign::Comma) => {}
                // `pc in a | b` is a list, `pc in a | priv = u` is not.
                Token::Sign(Sign::Or) if !is_operand(token::next(self.text, self.token.end)?.token) => {}
                _ => return Ok(()),
            }
            self.step()?;
            self.item(to, field, has_ranges)?;
            self.push(to, Operation::Or, first)?;
        }
    }

    fn item(&mut self, to: &mut Expression, field: Field, has_ranges: bool) -> Result<'t, ()> {
        let first = self.token;
        let is_to = |token| matches!(token, Token::Sign(Sign::To | Sign::ToAndWith));
        let from = if has_ranges && is_to(first.token) { None } else { Some(self.value(field)?) };
        if !(has_ranges && is_to(self.token.token)) {
            let Some(Address { at, extent }) = from else { return Ok(()) };
            let comparator = match extent.filter(|_| has_ranges) {
                Some(extent) if extent.start < extent.end => Comparator::Range(extent.start, extent.end - 1),
                _ => Comparator::Match(at),
            };
            return self.compare(to, field, comparator, first);
        }
        let with_last = self.token.token == Token::Sign(Sign::ToAndWith);
        let mut last = self.token;
        self.step()?;
        let least = from.map_or(0, |from| from.at);
        let most = if self.is_value() {
            last = self.token;
            let end = self.value(field)?.at;
            if with_last { Some(end) } else { end.checked_sub(1) }
        } else if with_last {
            return Err(self.unexpected(Expected::Value(field)));
        } else {
            Some(u64::MAX)
        };
        match most.filter(|most| least <= *most) {
            Some(most) => self.compare(to, field, Comparator::Range(least, most), first),
            None => {
                let len = last.end - first.at;
                Err(Error { at: first.at, len, problem: Problem::Empty })
            }
        }
    }

    fn compare(
        &mut self,
        to: &mut Expression,
        field: Field,
        comparator: Comparator,
        at: Spanned<'t>,
    ) -> Result<'t, ()> {
        if comparator.bounds().0 > field.most() {
            return Err(self.wrong(at, Problem::Value(field)));
        }
        self.push(to, Operation::Test(field, comparator), at)
    }

    fn event(&mut self, to: &mut Expression) -> Result<'t, ()> {
        let name = self.token;
        let (Token::Word(word) | Token::Quoted(word)) = name.token else {
            return Err(self.unexpected(Expected::Event));
        };
        let number = self.names.event(word).filter(|number| *number < 64);
        let number = number.ok_or_else(|| self.wrong(name, Problem::Event(word)))?;
        self.step()?;
        self.push(to, Operation::Test(Field::Event, Comparator::Match(number.into())), name)
    }

    /// Parses a value and an offset that is added to it.
    fn value(&mut self, field: Field) -> Result<'t, Address> {
        let first = self.token;
        let mut address = self.plain_value(field)?;
        while let Token::Sign(sign @ (Sign::Plus | Sign::Minus)) = self.token.token {
            self.step()?;
            let Token::Number(offset) = self.token.token else {
                return Err(self.unexpected(Expected::Number));
            };
            let at = match sign {
                Sign::Plus => address.at.checked_add(offset),
                _ => address.at.checked_sub(offset),
            };
            let len = self.token.end - first.at;
            let at = at.ok_or(Error { at: first.at, len, problem: Problem::Overflow })?;
            address = Address { at, extent: None };
            self.step()?;
        }
        Ok(address)
    }

    fn plain_value(&mut self, field: Field) -> Result<'t, Address> {
        let value = self.token;
        let number = |at| Address { at, extent: None };
        let address = match (value.token, field.values()) {
            (Token::Number(at), _) => number(at),
            (Token::Word("end"), Values::Addresses) if self.is_call() => return self.end(),
            (Token::Word(name) | Token::Quoted(name), Values::Addresses) => self.symbol(name, value)?,
            (Token::Word(word), Values::Words(words)) => match words.iter().find(|(known, _)| *known == word)
            {
                Some((_, at)) => number(*at),
                None => return Err(self.unexpected(Expected::Value(field))),
            },
            _ => return Err(self.unexpected(Expected::Value(field))),
        };
        self.step()?;
        Ok(address)
    }

    /// Resolves a symbol, or `NAME_end`, which is the end of `NAME` unless a symbol is called so.
    fn symbol(&self, name: &'t str, at: Spanned<'t>) -> Result<'t, Address> {
        if let Some(extent) = self.names.symbol(name) {
            return Ok(Address { at: extent.start, extent: Some(extent) });
        }
        let ended = name.strip_suffix("_end").and_then(|name| self.names.symbol(name));
        match ended {
            Some(extent) => Ok(Address { at: extent.end, extent: None }),
            None => Err(self.wrong(at, Problem::Symbol(name))),
        }
    }

    /// Parses `end(NAME)`.
    fn end(&mut self) -> Result<'t, Address> {
        self.step()?;
        self.step()?;
        let at = self.token;
        let (Token::Word(name) | Token::Quoted(name)) = at.token else {
            return Err(self.unexpected(Expected::Symbol));
        };
        let extent = self.names.symbol(name).ok_or_else(|| self.wrong(at, Problem::Symbol(name)))?;
        self.step()?;
        self.close()?;
        Ok(Address { at: extent.end, extent: None })
    }

    /// Returns whether an opening parenthesis follows the next token.
    fn is_call(&self) -> bool {
        let next = token::next(self.text, self.token.end);
        next.is_ok_and(|next| next.token == Token::Sign(Sign::Open))
    }

    fn close(&mut self) -> Result<'t, ()> {
        self.next_if(Sign::Close)?.map(|_| ()).ok_or_else(|| self.unexpected(Expected::Close))
    }

    /// Takes the next token, if it is `sign`.
    fn next_if(&mut self, sign: Sign) -> Result<'t, Option<Spanned<'t>>> {
        let next = self.token;
        if next.token != Token::Sign(sign) {
            return Ok(None);
        }
        self.step()?;
        Ok(Some(next))
    }

    fn is_value(&self) -> bool {
        match self.token.token {
            Token::Number(_) | Token::Quoted(_) => true,
            Token::Word(word) => !matches!(word, "start" | "stop" | "for"),
            Token::Sign(_) | Token::End => false,
        }
    }

    fn push(&self, to: &mut Expression, operation: Operation, at: Spanned<'t>) -> Result<'t, ()> {
        if to.push(operation) { Ok(()) } else { Err(self.wrong(at, Problem::TooMany)) }
    }

    fn step(&mut self) -> Result<'t, ()> {
        self.token = token::next(self.text, self.token.end)?;
        Ok(())
    }

    fn unexpected(&self, expected: Expected) -> Error<'t> {
        let found = self.text.get(self.token.at..self.token.end).unwrap_or_default();
        self.wrong(self.token, Problem::Unexpected { found, expected })
    }

    fn wrong(&self, at: Spanned<'t>, problem: Problem<'t>) -> Error<'t> {
        Error { at: at.at, len: at.end - at.at, problem }
    }
}

/// Returns whether an operand can begin with this token.
fn is_operand(token: Token<'_>) -> bool {
    match token {
        Token::Word(word) => Field::of(word).is_some(),
        Token::Sign(sign) => matches!(sign, Sign::Not | Sign::Open),
        _ => false,
    }
}
