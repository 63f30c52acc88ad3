//! Which columns of a table are ids, by their names.
//!
//! A column is named as an id if the last word of its name says so: `user_id`, `userId`, `movie ID`, `id`, or, in a table of few
//! columns, `userid`. What is left of the name is what it identifies.

/// Words that end the name of an id.
const WORDS: [&str; 4] = ["id", "ids", "idx", "index"];
/// Wider tables have words as columns, of which many end in `id`.
const FEW: usize = 8;

/// What a column of ids identifies, in lower case; `None` for a name of no id, empty for a name that says nothing more.
pub(super) fn identified(name: &str, width: usize) -> Option<String> {
    let mut words = words(name);
    let last = words.pop()?;
    if WORDS.contains(&last.as_str()) {
        return Some(words.concat());
    }
    let stem = last.strip_suffix("id").filter(|stem| width <= FEW && stem.len() > 2)?;
    words.push(stem.to_owned());
    Some(words.concat())
}

/// Whether a name and what an id identifies are the same but for case, punctuation and the plural.
pub(super) fn is_same(name: &str, identified: &str) -> bool {
    let singular = |text: &str| text.strip_suffix('s').unwrap_or(text).to_owned();
    !identified.is_empty() && singular(&words(name).concat()) == singular(identified)
}

/// The words of a name in lower case: cut where no letter or digit stands, and before a capital after a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = vec![String::new()];
    let mut before = ' ';
    for character in name.chars() {
        let starts = character.is_uppercase() && before.is_lowercase();
        if starts || !character.is_alphanumeric() {
            words.push(String::new());
        }
        if character.is_alphanumeric() {
            let last = words.last_mut().expect("there is always a last word");
            last.extend(character.to_lowercase());
        }
        before = character;
    }
    words.retain(|word| !word.is_empty());
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_ids_say_what_they_identify() {
        for name in ["userId", "user_id", "USER ID", "user.Id", "userid", "UserIDs"] {
            assert_eq!(identified(name, 3).as_deref(), Some("user"), "{name}");
        }
        assert_eq!(identified("id", 3).as_deref(), Some(""));
        assert_eq!(identified("movieLensId", 3).as_deref(), Some("movielens"));
        assert_eq!(identified("acid", 1000), None);
        for name in ["rating", "aid", "identity", "", "x1"] {
            assert_eq!(identified(name, 3), None, "{name}");
        }
    }

    #[test]
    fn a_plural_is_the_same() {
        assert!(is_same("Users", "user") && is_same("user", "users") && is_same("play_list", "playlist"));
        assert!(!is_same("item", "user") && !is_same("", ""));
    }
}
