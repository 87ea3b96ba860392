//! Just enough of JSON to read what `repartition policy compile` writes, for programs that want no crate.
use std::str::Chars;

pub enum Json {
    Other, // null, true, false: in no field that routes
    Number(f64),
    Text(String),
    List(Vec<Json>),
    Object(Vec<(String, Json)>),
}

pub fn parse(text: &str) -> Result<Json, String> {
    let mut rest = text.chars();
    let value = value(&mut rest)?;
    if next(&mut rest).is_some() {
        return Err("text behind the JSON".into());
    }
    Ok(value)
}

/// The next character that is no white space.
fn next(rest: &mut Chars) -> Option<char> {
    rest.find(|c| !c.is_ascii_whitespace())
}

fn peek(rest: &Chars) -> Option<char> {
    next(&mut rest.clone())
}

fn value(rest: &mut Chars) -> Result<Json, String> {
    match next(rest) {
        Some('{') => Ok(Json::Object(items(rest, '}', |rest| {
            let name = if next(rest) == Some('"') { text(rest)? } else { return Err("a name is missing".into()) };
            if next(rest) != Some(':') {
                return Err(format!("no : behind \"{name}\""));
            }
            Ok((name, value(rest)?))
        })?)),
        Some('[') => Ok(Json::List(items(rest, ']', value)?)),
        Some('"') => Ok(Json::Text(text(rest)?)),
        Some(first) => word(first, rest),
        None => Err("it ends too early".into()),
    }
}

fn items<T>(rest: &mut Chars, end: char, item: fn(&mut Chars) -> Result<T, String>) -> Result<Vec<T>, String> {
    let mut found = Vec::new();
    if peek(rest) == Some(end) {
        next(rest);
        return Ok(found);
    }
    loop {
        found.push(item(rest)?);
        match next(rest) {
            Some(',') => (),
            Some(c) if c == end => return Ok(found),
            _ => return Err(format!("no {end}")),
        }
    }
}

fn word(first: char, rest: &mut Chars) -> Result<Json, String> {
    let mut word = String::from(first);
    while let Some(c) = rest.clone().next().filter(|c| c.is_ascii_alphanumeric() || "+-.".contains(*c)) {
        word.push(c);
        rest.next();
    }
    match word.as_str() {
        "null" | "true" | "false" => Ok(Json::Other),
        number => number.parse().map(Json::Number).map_err(|_| format!("no value: {number}")),
    }
}

fn text(rest: &mut Chars) -> Result<String, String> {
    let mut units = Vec::new(); // UTF-16, as escapes count
    loop {
        match rest.next().ok_or("a text does not end")? {
            '"' => return String::from_utf16(&units).map_err(|why| why.to_string()),
            '\\' => units.push(match rest.next() {
                Some('u') => u16::from_str_radix(&rest.take(4).collect::<String>(), 16).map_err(|why| why.to_string())?,
                Some('b') => 8,
                Some('f') => 12,
                Some('n') => 10,
                Some('r') => 13,
                Some('t') => 9,
                Some(c @ ('"' | '\\' | '/')) => c as u16,
                _ => return Err("no such escape".into()),
            }),
            c => units.extend_from_slice(c.encode_utf16(&mut [0; 2])),
        }
    }
}

impl Json {
    pub fn get(&self, name: &str) -> Option<&Json> {
        self.fields().ok()?.iter().find(|field| field.0 == name).map(|field| &field.1)
    }

    pub fn need(&self, name: &str) -> Result<&Json, String> {
        self.get(name).ok_or(format!("\"{name}\" is missing"))
    }

    pub fn fields(&self) -> Result<&[(String, Json)], String> {
        if let Json::Object(fields) = self { Ok(fields) } else { Err("no object".into()) }
    }

    pub fn list(&self) -> Result<&[Json], String> {
        if let Json::List(list) = self { Ok(list) } else { Err("no list".into()) }
    }

    pub fn text(&self) -> Result<&str, String> {
        if let Json::Text(text) = self { Ok(text) } else { Err("no text".into()) }
    }

    pub fn number(&self) -> Result<usize, String> {
        match self {
            Json::Number(number) if *number >= 0.0 && number.fract() == 0.0 => Ok(*number as usize),
            _ => Err("no whole number".into()),
        }
    }

    pub fn numbers(&self) -> Result<Vec<usize>, String> {
        self.list()?.iter().map(Json::number).collect()
    }
}
