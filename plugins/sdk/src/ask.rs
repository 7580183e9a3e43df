//! Questions that are not answered yet.

use crate::context::Context;
use crate::error::Error;
use crate::wire::{Answer, Question};

/// Reads the answers, in the order of their questions.
type Read<'c, T> = Box<dyn Fn(&[&Answer]) -> Result<T, Error> + 'c>;

/// A question, or several of one sort, whose answer is a `T`.
#[must_use = "a question is asked by `get` or `Context::all`"]
pub struct Ask<'c, T> {
    context: &'c Context<'c>,
    stage: u32,
    questions: Vec<Question>,
    read: Read<'c, T>,
}

impl<'c, T> Ask<'c, T> {
    pub(crate) fn one(
        context: &'c Context<'_>,
        question: Question,
        read: impl Fn(&Answer) -> Result<T, Error> + 'c,
    ) -> Self {
        Self::many(context, 0, vec![question], move |answers| match answers {
            [answer] => read(answer),
            _ => Err(Error::NotYet),
        })
    }

    pub(crate) fn many(
        context: &'c Context<'_>,
        stage: u32,
        questions: Vec<Question>,
        read: impl Fn(&[&Answer]) -> Result<T, Error> + 'c,
    ) -> Self {
        Self {
            context,
            stage,
            questions,
            read: Box::new(read),
        }
    }

    /// Asks at this stage: after everything of the stages below has been answered, and again whenever one of
    /// them was asked anew. The default is 0.
    pub fn stage(mut self, stage: u32) -> Self {
        self.stage = stage;
        self
    }

    /// The answer.
    ///
    /// # Errors
    /// [`Error::NotYet`] while it is not there, [`Error::Refused`] without the grant.
    pub fn get(self) -> Result<T, Error> {
        let Self {
            context,
            stage,
            questions,
            read,
        } = self;
        let answers: Vec<Option<&Answer>> = questions
            .into_iter()
            .map(|question| context.ask(stage, question))
            .collect();
        let complete: Option<Vec<&Answer>> = answers.into_iter().collect();
        complete.map_or(Err(Error::NotYet), |answers| read(&answers))
    }
}

/// Questions that are asked together. Every one is asked before the first error is returned.
pub trait Together {
    /// What they answer.
    type Answers;

    /// Asks all of them.
    ///
    /// # Errors
    /// The first error in the order of the questions.
    fn together(self) -> Result<Self::Answers, Error>;
}

macro_rules! together {
    ($($ask:ident: $answer:ident),+) => {
        impl<$($answer),+> Together for ($(Ask<'_, $answer>,)+) {
            type Answers = ($($answer,)+);

            fn together(self) -> Result<Self::Answers, Error> {
                let ($($ask,)+) = self;
                $(let $ask = $ask.get();)+
                Ok(($($ask?,)+))
            }
        }
    };
}

together!(a: A, b: B);
together!(a: A, b: B, c: C);
together!(a: A, b: B, c: C, d: D);
together!(a: A, b: B, c: C, d: D, e: E);
