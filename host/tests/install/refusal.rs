//! What is bad is refused with one clear condition, and what was served goes on.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use windlass::oci::{Digest, artifact};

use crate::world::{World, component, edited};

/// Installs something good, then asks for `bad`; says what the condition tells.
async fn instead(world: &World, bad: Value, step: &str, reason: &str) -> String {
    world.push(&component(), "good", "1").await;
    let host = world.host().await;
    world.apply("hostile", world.spec(":good")).await;
    world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    world.apply("hostile", bad).await;
    let told = world.condition("hostile", step, "False", reason).await;
    let going_on = world
        .condition("hostile", "Serving", "True", "PreviousVersion")
        .await;
    assert!(going_on.contains("goes on"), "{going_on}");
    world.make_served("a").await;
    world.apply("hostile", world.spec(":good")).await;
    world
        .condition("hostile", "Serving", "True", "Serving")
        .await;
    host.stop().await;
    told
}

/// The same for an artifact that is not what it should be.
async fn instead_of_artifact(
    spoil: impl FnOnce(&mut artifact::Packed),
    step: &str,
    reason: &str,
) -> String {
    let world = World::new().await;
    let mut packed = artifact::pack(&component(), &BTreeMap::new()).unwrap();
    spoil(&mut packed);
    let repository = world.repository();
    repository.put_blob(&packed.layer).await.unwrap();
    repository.put_blob(&packed.config).await.unwrap();
    repository
        .put_manifest(&packed.manifest, artifact::MANIFEST, Some("bad"))
        .await
        .unwrap();
    instead(&world, world.spec(":bad"), step, reason).await
}

fn change(bytes: &mut Vec<u8>, from: &str, to: &str) {
    let text = String::from_utf8(bytes.clone()).unwrap();
    assert!(text.contains(from), "{from} is not in {text}");
    *bytes = text.replace(from, to).into_bytes();
}

/// Makes the manifest name what the layer and config have become.
fn rename(packed: &mut artifact::Packed, layer: Vec<u8>) {
    let (old_layer, old_config) = (Digest::of(&packed.layer), Digest::of(&packed.config));
    let new_layer = Digest::of(&layer);
    change(&mut packed.config, old_layer.hex(), new_layer.hex());
    change(&mut packed.manifest, old_layer.hex(), new_layer.hex());
    let new_config = Digest::of(&packed.config);
    change(&mut packed.manifest, old_config.hex(), new_config.hex());
    packed.layer = layer;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_core_module_is_no_component() {
    let module = b"\0asm\x01\0\0\0".to_vec();
    let told = instead_of_artifact(|packed| rename(packed, module), "Fetched", "CoreModule").await;
    assert!(told.contains("wasm32-wasip2"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_text_is_no_component() {
    let text = b"#!/bin/sh\n".to_vec();
    instead_of_artifact(|packed| rename(packed, text), "Fetched", "NotWebAssembly").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_component_that_is_cut_off_is_not_compiled() {
    let half = component()[..100_000].to_vec();
    instead_of_artifact(|packed| rename(packed, half), "Compiled", "NotCompiled").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_contract_is_no_plugin() {
    let other = edited(
        &component(),
        "windlass:plugin/operator@",
        "windlass:plugim/operator@",
    );
    instead_of_artifact(|packed| rename(packed, other), "Compiled", "NotAPlugin").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_image_for_another_machine_is_refused() {
    let spoil = |packed: &mut artifact::Packed| {
        let old = Digest::of(&packed.config);
        change(&mut packed.config, "wasip2", "linux!");
        let new = Digest::of(&packed.config);
        change(&mut packed.manifest, old.hex(), new.hex());
    };
    instead_of_artifact(spoil, "Fetched", "WrongArchitecture").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_container_image_is_refused() {
    let spoil = |packed: &mut artifact::Packed| {
        let image = "application/vnd.oci.image.config.v1+json";
        change(&mut packed.manifest, artifact::CONFIG, image);
    };
    instead_of_artifact(spoil, "Fetched", "ForeignMediaType").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tag_that_is_not_there_is_named() {
    let world = World::new().await;
    let told = instead(&world, world.spec(":missing"), "Fetched", "NotFound").await;
    assert!(told.contains(":missing") && told.contains("good"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tampered_layer_is_refused() {
    let world = World::new().await;
    world
        .push(
            &edited(&component(), "does what no", "does what mo"),
            "bad",
            "1",
        )
        .await;
    let tampered = edited(&component(), "does what no", "does what mo");
    let blob = world
        .layout()
        .join("blobs/sha256")
        .join(Digest::of(&tampered).hex());
    std::fs::write(blob, [tampered.as_slice(), b" "].concat()).unwrap();
    instead(&world, world.spec(":bad"), "Fetched", "Tampered").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_configuration_that_does_not_fit_is_refused() {
    let world = World::new().await;
    let mut bad = world.spec(":good");
    bad["config"] = json!({"do": 5});
    let told = instead(&world, bad, "Granted", "ConfigurationInvalid").await;
    assert!(told.contains("do"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_grant_that_is_none_is_named() {
    let world = World::new().await;
    let mut bad = world.spec(":good");
    bad["grants"] = json!(["everything"]);
    let told = instead(&world, bad, "Fetched", "InvalidSpec").await;
    assert!(told.contains("everything"), "{told}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_nobody_signed_is_not_verified() {
    let world = World::new().await;
    let mut bad = world.spec(":good");
    bad["verify"] = json!({"cosignKeys": [KEY]});
    instead(&world, bad, "Verified", "NotSigned").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_is_none_is_named() {
    let world = World::new().await;
    let mut bad = world.spec(":good");
    bad["verify"] = json!({"cosignKeys": ["rsa"]});
    instead(&world, bad, "Verified", "InvalidKey").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_registry_that_is_not_there_is_told() {
    let world = World::new().await;
    let mut bad = world.spec("");
    bad["source"] = json!({"oci": "oci://127.0.0.1:9/plugins/hostile:1"});
    bad["registry"] = json!({"insecure": true});
    instead(&world, bad, "Fetched", "Unreachable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_plugin_cannot_take_a_kind() {
    let world = World::new().await;
    world.push(&component(), "good", "1").await;
    let host = world.host().await;
    world.apply("older", world.spec(":good")).await;
    world.condition("older", "Serving", "True", "Serving").await;
    // The API server's clock has seconds; the name decides between two of the same one.
    world.apply("zz-younger", world.spec(":good")).await;
    let told = world
        .condition("zz-younger", "Serving", "False", "KindTaken")
        .await;
    assert!(told.contains("older"), "{told}");
    world
        .plugins()
        .delete("older", &Default::default())
        .await
        .unwrap();
    world
        .condition("zz-younger", "Serving", "True", "Serving")
        .await;
    world.make_served("a").await;
    world.end(host).await;
}

/// A public key as cosign writes it; nobody signs with it here.
const KEY: &str = "-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEaxfR8uEsQkf4vOblY6RA8ncDfYEt
6zOg9KE5RdiYwpZP40Li/hp/m47n60p8D54WK84zV2sxXs7LtkBoN79R9Q==
-----END PUBLIC KEY-----
";
