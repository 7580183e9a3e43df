//! Which cryptography TLS is made of: ring, for every client of this process.

/// Chooses it. Whoever makes a client calls this first: without a choice the first client would panic.
pub fn choose_cryptography() {
    // Fails only when the choice was made before, which serves as well.
    let _ = rustls::crypto::ring::default_provider().install_default();
}
