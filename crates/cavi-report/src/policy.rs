//! The content policy of a page: only the scripts that it was written with run, and nothing is fetched.

use sha2::{Digest, Sha256};

use crate::html::base64;

/// The value of `Content-Security-Policy` under which exactly these scripts run and this style counts; with `connects` they may ask the server
/// that the page came from, and no other.
pub(crate) fn policy(scripts: &[&str], style: &str, connects: bool) -> String {
    let hash = |text: &&str| format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())));
    let hashes: Vec<String> = scripts.iter().map(hash).collect();
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src data: blob:; {}base-uri 'none'; form-action 'none'",
        hashes.join(" "),
        hash(&style),
        if connects { "connect-src 'self'; " } else { "" }
    )
}

#[cfg(test)]
mod tests {
    use super::policy;

    #[test]
    fn a_script_runs_by_its_hash() {
        // The SHA-256 of "abc" is published in FIPS 180-2, appendix B.1.
        let of_abc = "'sha256-ungWv48Bz+pBQUDeXa4iI7ADYaOWF3qctBD/YfIAFa0='";
        assert_eq!(policy(&["abc"], "abc", false).matches(of_abc).count(), 2);
        assert!(
            !policy(&[], "", false).contains("connect-src")
                && policy(&[], "", true).contains("connect-src 'self';")
        );
    }
}
