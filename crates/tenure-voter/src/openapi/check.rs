//! Checks messages against their description.

use serde_json::Value;

use crate::wire::Route;

pub(crate) fn document() -> Value {
    serde_json::from_str(super::OPENAPI).unwrap()
}

/// The errors of a request on this route; none if it is as described.
pub(crate) fn request(document: &Value, route: Route, body: &[u8]) -> Result<(), String> {
    let operation = operation(document, route);
    match operation.get("requestBody") {
        None if body.is_empty() => Ok(()),
        None => Err("a body that is not described".to_owned()),
        Some(described) => content(document, &described["content"]["application/json"], body),
    }
}

pub(crate) fn answer(
    document: &Value,
    route: Route,
    status: u16,
    body: &[u8],
) -> Result<(), String> {
    let responses = &operation(document, route)["responses"];
    let (described, kind) = match responses.get(status.to_string()) {
        Some(described) => (described, "application/json"),
        None if status >= 400 => (&responses["default"], "application/problem+json"),
        None => return Err(format!("status {status} is not described")),
    };
    match described.get("content") {
        None if body.is_empty() => Ok(()),
        None => Err("a body that is not described".to_owned()),
        Some(described) => content(document, &described[kind], body),
    }
}

fn operation(document: &Value, route: Route) -> &Value {
    let method = route.method().as_str().to_lowercase();
    &document["paths"][route.path()][&method]
}

fn content(document: &Value, described: &Value, body: &[u8]) -> Result<(), String> {
    let body: Value = serde_json::from_slice(body).map_err(|error| error.to_string())?;
    fits(document, &described["schema"], &body, "body")
}

/// Checks that a value fits its schema and has no other fields. Knows only the keywords of schemas
/// that this description uses.
fn fits(document: &Value, schema: &Value, value: &Value, at: &str) -> Result<(), String> {
    if let Some(name) = schema["$ref"].as_str() {
        let schema = document.pointer(name.trim_start_matches('#')).ok_or(name)?;
        return fits(document, schema, value, at);
    }
    if let Some(any) = schema["anyOf"].as_array() {
        let each: Vec<_> = any.iter().map(|one| fits(document, one, value, at)).collect();
        let wrong = || each.iter().filter_map(|one| one.clone().err()).collect::<Vec<_>>();
        return if each.iter().any(Result::is_ok) { Ok(()) } else { Err(wrong().join(", and ")) };
    }
    let wrong = |what: &str| Err(format!("{at}: {value} is {what}"));
    let is = match schema["type"].as_str() {
        Some("object") => value.is_object(),
        Some("array") => value.is_array(),
        Some("string") => value.is_string(),
        Some("boolean") => value.is_boolean(),
        Some("null") => value.is_null(),
        Some("integer") => value.is_i64() || value.is_u64(),
        other => return Err(format!("{at}: a schema of the type {other:?}")),
    };
    if !is {
        return wrong(&format!("no {}", schema["type"]));
    }
    if schema["enum"].as_array().is_some_and(|all| !all.contains(value)) {
        return wrong("not an allowed value");
    }
    let beyond = |bound: &str, number: f64| match bound {
        "minimum" => schema[bound].as_f64().is_some_and(|min| number < min),
        _ => schema[bound].as_f64().is_some_and(|max| number > max),
    };
    if value.as_f64().is_some_and(|n| beyond("minimum", n) || beyond("maximum", n)) {
        return wrong("out of range");
    }
    let longest = |key: &str| schema[key].as_u64().map_or(usize::MAX, |max| max as usize);
    if value.as_str().is_some_and(|text| text.len() > longest("maxLength")) {
        return wrong("too long");
    }
    if let Some(items) = value.as_array() {
        if items.len() > longest("maxItems") {
            return wrong("too long");
        }
        return items.iter().try_for_each(|item| fits(document, &schema["items"], item, at));
    }
    let Some(fields) = value.as_object() else { return Ok(()) };
    for name in schema["required"].as_array().into_iter().flatten() {
        if !name.as_str().is_some_and(|name| fields.contains_key(name)) {
            return Err(format!("{at}: {name} is missing"));
        }
    }
    fields.iter().try_for_each(|(name, field)| match schema["properties"].get(name) {
        Some(schema) => fits(document, schema, field, &format!("{at}.{name}")),
        None => Err(format!("{at}: {name} is not described")),
    })
}

#[test]
fn description_lists_every_route() {
    let document = document();
    let paths = document["paths"].as_object().unwrap();
    let described = paths.iter().flat_map(|(path, methods)| {
        methods.as_object().unwrap().keys().map(move |method| format!("{method} {path}"))
    });
    let mut described: Vec<_> = described.collect();
    let route =
        |route: Route| format!("{} {}", route.method().as_str().to_lowercase(), route.path());
    let mut routes: Vec<_> = Route::ALL.into_iter().map(route).collect();
    described.sort();
    routes.sort();
    assert_eq!(described, routes);
}

#[test]
fn differences_are_named() {
    let document = document();
    for (body, part) in [
        ("{}", "\"voterId\" is missing"),
        (r#"{"voterId":7}"#, "no \"string\""),
        (r#"{"voterId":"a","more":1}"#, "more is not described"),
        (r#"{"voterId":"a","reason":null}"#, "body.reason"),
    ] {
        let told = request(&document, Route::Remove, body.as_bytes()).unwrap_err();
        assert!(told.contains(part), "{body}: {told}");
    }
    assert_eq!(request(&document, Route::Remove, br#"{"voterId":"a"}"#), Ok(()));
}
