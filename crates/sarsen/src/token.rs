//! `sarsen token`: makes, lists and revokes the tokens of a data folder. It changes their file, and
//! a server that has the folder open sees that within a second.

use crate::cli::{TokenAction, TokenArguments};
use crate::machine;
use faces::access::{Grant, NewToken, Pattern, Scope, Token, TokenFile, TokenFileError};
use repository::Timestamp;
use serde_json::{Value, json};

/// Does what is asked and gives what goes to stdout.
pub fn run(arguments: TokenArguments) -> Result<String, TokenFileError> {
    let file = TokenFile::of(&arguments.data.clone().unwrap_or_default());
    match arguments.action {
        Some(TokenAction::Create) => create(&file, arguments),
        Some(TokenAction::Revoke) => {
            let revoked = file.revoke(&arguments.id.unwrap_or_default())?;
            Ok(format!("revoked {}\n", revoked.id))
        }
        Some(TokenAction::List) | None => {
            let tokens = file.read()?;
            Ok(if arguments.json { json(&tokens) } else { table(&tokens, machine::now()) })
        }
    }
}

/// The token stands alone on stdout, so that a script can take it; the rest is for people.
fn create(file: &TokenFile, arguments: TokenArguments) -> Result<String, TokenFileError> {
    let TokenArguments { scope, collections, expires, name, .. } = arguments;
    let collections = collections.unwrap_or_else(|| vec![Pattern::Every]);
    let grant = Grant::new(scope.unwrap_or(Scope::Read), collections)?;
    let created = machine::now();
    let life_ms = expires.map(|life| u64::try_from(life.as_millis()).unwrap_or(u64::MAX));
    let expires = life_ms.map(|life_ms| Timestamp(created.0.saturating_add(life_ms)));
    let new = NewToken { name: name.unwrap_or_default(), grant, created, expires };
    let (token, secret) = file.create(new)?;
    eprintln!("sarsen: made token {}; what follows is shown this once", token.id);
    Ok(format!("{}\n", secret.reveal()))
}

fn table(tokens: &[Token], now: Timestamp) -> String {
    let mut rows =
        vec![["ID", "SCOPE", "CREATED", "EXPIRES", "COLLECTIONS", "NAME"].map(str::to_owned)];
    for token in tokens {
        let expires = match token.expires {
            None => "never".to_owned(),
            Some(_) if token.is_expired(now) => "over".to_owned(),
            Some(time) => minute(time),
        };
        rows.push([
            token.id.clone(),
            token.grant.scope().as_str().to_owned(),
            minute(token.created),
            expires,
            patterns(token).join(","),
            token.name.clone(),
        ]);
    }
    let mut text = String::new();
    for row in &rows {
        let cells = row.iter().enumerate().map(|(column, cell)| {
            let width = rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
            format!("{cell:width$}")
        });
        text.push_str(cells.collect::<Vec<_>>().join("  ").trim_end());
        text.push('\n');
    }
    text
}

fn patterns(token: &Token) -> Vec<String> {
    token.grant.collections().iter().map(ToString::to_string).collect()
}

/// Lists are for people: to the minute.
fn minute(time: Timestamp) -> String {
    let text = time.rfc3339();
    format!("{}Z", text.get(..16).unwrap_or(&text))
}

fn json(tokens: &[Token]) -> String {
    let row = |token: &Token| {
        json!({
            "id": token.id,
            "name": token.name,
            "scope": token.grant.scope().as_str(),
            "collections": patterns(token),
            "created": token.created.rfc3339(),
            "expires": token.expires.map(Timestamp::rfc3339),
        })
    };
    format!("{:#}\n", Value::Array(tokens.iter().map(row).collect()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    fn made(folder: &Path, expires: Option<Timestamp>, name: &str) -> Vec<Token> {
        let collections = vec!["notes".parse().unwrap(), "img-*".parse().unwrap()];
        let grant = Grant::new(Scope::Write, collections).unwrap();
        let file = TokenFile::of(folder);
        let (name, created) = (name.to_owned(), Timestamp(951_782_400_000));
        file.create(NewToken { name, grant, created, expires }).unwrap();
        file.read().unwrap()
    }

    #[test]
    fn the_list_has_a_line_for_each_token() {
        let folder = tempfile::tempdir().unwrap();
        made(folder.path(), None, "ci");
        let tokens = made(folder.path(), Some(Timestamp(951_782_460_000)), "");
        let text = table(&tokens, Timestamp(951_782_400_000));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert!(lines[0].starts_with("ID        SCOPE  CREATED"), "{text}");
        assert!(lines[1].contains("write  2000-02-29T00:00Z  never"), "{text}");
        assert!(lines[1].ends_with("notes,img-*  ci"), "{text}");
        assert!(lines[2].contains("2000-02-29T00:01Z"), "{text}");
        assert!(table(&tokens, Timestamp(951_782_460_000)).contains("over"));
    }

    #[test]
    fn the_list_as_json() {
        let folder = tempfile::tempdir().unwrap();
        let tokens = made(folder.path(), Some(Timestamp(951_782_460_000)), "a \"b\" \\ ü");
        let value: Value = serde_json::from_str(&json(&tokens)).unwrap();
        assert_eq!(value[0]["name"], "a \"b\" \\ ü");
        assert_eq!(value[0]["collections"], json!(["notes", "img-*"]));
        assert_eq!(value[0]["expires"], "2000-02-29T00:01:00.000Z");
        let empty: Value = serde_json::from_str(&json(&[])).unwrap();
        assert_eq!(empty, json!([]));
    }
}
