//! Which layers of tests to run, which tests of them, and how often.

use super::binaries::Ground;

/// A layer of tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Layer {
    Tidy,
    Unit,
    Go,
    ControlPlane,
    Cluster,
}

impl Layer {
    const ALL: [Self; 5] = [
        Self::Tidy,
        Self::Unit,
        Self::Go,
        Self::ControlPlane,
        Self::Cluster,
    ];

    /// The layer of the tests that run on this.
    pub(super) fn on(ground: Ground) -> Self {
        match ground {
            Ground::Checkout => Self::Unit,
            Ground::ControlPlane => Self::ControlPlane,
            Ground::Cluster => Self::Cluster,
        }
    }

    /// The layer of this name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|layer| layer.name() == name)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Tidy => "tidy",
            Self::Unit => "unit",
            Self::Go => "go",
            Self::ControlPlane => "control-plane",
            Self::Cluster => "cluster",
        }
    }
}

/// What one run of tests does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    layers: Vec<Layer>,
    /// Run only the tests whose name contains this.
    pub(crate) part: Option<String>,
    /// How often the tests run.
    pub(crate) times: u32,
}

impl Plan {
    /// All layers; those that start nothing when it is to be `quick`.
    pub(crate) fn of_everything(quick: bool, times: u32) -> Self {
        let slow = [Layer::ControlPlane, Layer::Cluster];
        let wanted = |layer: &Layer| !(quick && slow.contains(layer));
        let layers = Layer::ALL.into_iter().filter(wanted).collect();
        Self {
            layers,
            part: None,
            times,
        }
    }

    pub(crate) fn of_layer(layer: Layer, times: u32) -> Self {
        Self {
            layers: vec![layer],
            part: None,
            times,
        }
    }

    /// The tests of these layers whose name contains `part`.
    pub(crate) fn of_tests(layers: Vec<Layer>, part: &str, times: u32) -> Self {
        Self {
            layers,
            part: Some(part.to_owned()),
            times,
        }
    }

    pub(crate) fn has(&self, layer: Layer) -> bool {
        self.layers.contains(&layer)
    }

    /// The names of the layers that do not run, or not whole.
    pub(crate) fn left_out(&self) -> Vec<&'static str> {
        let whole = |layer: &Layer| self.has(*layer) && self.part.is_none();
        Layer::ALL
            .into_iter()
            .filter(|layer| !whole(layer))
            .map(Layer::name)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_leaves_nothing_out() {
        assert!(Plan::of_everything(false, 1).left_out().is_empty());
        assert_eq!(
            Plan::of_everything(true, 1).left_out(),
            ["control-plane", "cluster"]
        );
    }

    #[test]
    fn some_tests_of_a_layer_are_not_the_layer() {
        let plan = Plan::of_tests(vec![Layer::Unit], "name", 3);
        assert!(plan.has(Layer::Unit));
        assert!(plan.left_out().contains(&"unit"));
    }

    #[test]
    fn layers_are_known_by_name() {
        for layer in Layer::ALL {
            assert_eq!(Layer::named(layer.name()), Some(layer));
        }
        assert_eq!(Layer::named("a_killed_pod_returns"), None);
    }
}
