//! From the guest world to one controller a kind.

use kube::Resource;
use serde::de::DeserializeOwned;

use crate::context::Context;
use crate::error::Error;
use crate::plan::Plan;
use crate::wire::{Failure, Request, Step};

/// Decides about the objects of one kind.
pub trait Controller {
    /// The custom resource, made by `#[derive(kube::CustomResource)]`.
    type Object: Resource<DynamicType = ()> + DeserializeOwned;

    /// Whether [`Controller::finalize`] is called on deletion.
    const FINALIZES: bool = false;

    /// Decides about an object that should exist.
    ///
    /// # Errors
    /// See [`Error`]; pass on what the context returns with `?`.
    fn reconcile(&self, object: &Self::Object, cx: &Context<'_>) -> Result<Plan, Error>;

    /// Decides about an object that is being deleted, until a plan says [`Plan::finalized`].
    ///
    /// # Errors
    /// As [`Controller::reconcile`].
    fn finalize(&self, object: &Self::Object, cx: &Context<'_>) -> Result<Plan, Error> {
        let _ = (object, cx);
        Ok(Plan::finalized())
    }
}

/// True when the request is about an object of this controller's kind.
#[doc(hidden)]
#[must_use]
pub fn serves<C: Controller>(request: &Request) -> bool {
    Context::new(request).is_ok_and(|cx| {
        let this = cx.this();
        this.kind == C::Object::kind(&()) && this.api_version == C::Object::api_version(&())
    })
}

/// One call of `reconcile`.
///
/// # Errors
/// What the controller's [`Error`] becomes.
#[doc(hidden)]
pub fn reconcile<C: Controller>(controller: &C, request: &Request) -> Result<Step, Failure> {
    run(request, |object, cx| controller.reconcile(object, cx))
}

/// One call of `finalize`.
///
/// # Errors
/// What the controller's [`Error`] becomes.
#[doc(hidden)]
pub fn finalize<C: Controller>(controller: &C, request: &Request) -> Result<Step, Failure> {
    run(request, |object, cx| controller.finalize(object, cx))
}

fn run<O: DeserializeOwned>(
    request: &Request,
    decide: impl Fn(&O, &Context<'_>) -> Result<Plan, Error>,
) -> Result<Step, Failure> {
    let cx = Context::new(request)?;
    let object: O = serde_json::from_str(&request.object)
        .map_err(|why| Failure::Invalid(format!("failed to read the object: {why}")))?;
    match decide(&object, &cx) {
        Ok(plan) => Ok(Step::Plan(plan.wire())),
        Err(Error::NotYet) => Ok(Step::Need(cx.requirements())),
        Err(error) => Err(error.into()),
    }
}

/// Makes the component: `describe` is a function that returns a [`crate::Description`], each controller an
/// expression.
///
/// ```text
/// windlass_sdk::export! {
///     describe: describe,
///     controllers: [RedisController, RedisClusterController],
/// }
/// ```
#[macro_export]
macro_rules! export {
    (describe: $describe:path, controllers: [$($controller:ident),+ $(,)?] $(,)?) => {
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;

            impl $crate::wire::Guest for Component {
                fn describe() -> String {
                    $describe().json()
                }

                fn reconcile(
                    request: $crate::wire::Request,
                ) -> Result<$crate::wire::Step, $crate::wire::Failure> {
                    $(if $crate::controller::serves::<$controller>(&request) {
                        return $crate::controller::reconcile(&$controller, &request);
                    })+
                    Err($crate::controller::unknown_kind())
                }

                fn finalize(
                    request: $crate::wire::Request,
                ) -> Result<$crate::wire::Step, $crate::wire::Failure> {
                    $(if $crate::controller::serves::<$controller>(&request) {
                        return $crate::controller::finalize(&$controller, &request);
                    })+
                    Err($crate::controller::unknown_kind())
                }
            }

            $crate::bindings::export!(Component with_types_in $crate::bindings);
        };
    };
}

/// The failure of a call about a kind that no controller serves.
#[doc(hidden)]
#[must_use]
pub fn unknown_kind() -> Failure {
    Failure::Invalid(
        "no controller of this plugin serves this kind: a fault of the host".to_owned(),
    )
}
