//! schema_registry_converter: keys as JSON objects, one a line, become the bytes that it writes for them, in hex.
//! usage: serializers REGISTRY-URL TOPIC SCHEMA-FILE

use std::error::Error;

use apache_avro::types::Value;
use schema_registry_converter::blocking::avro::AvroEncoder;
use schema_registry_converter::blocking::schema_registry::SrSettings;
use schema_registry_converter::schema_registry_common::{SchemaType, SubjectNameStrategy, SuppliedSchema};
use serde_json::Value as Json;

/// JSON has one kind of number, the serializer wants the schema's.
fn value(json: &Json, schema: &Json) -> Result<Value, Box<dyn Error>> {
    Ok(match (schema.as_str(), json) {
        (Some("string"), Json::String(text)) => Value::String(text.clone()),
        (Some("int"), Json::Number(number)) => Value::Int(i32::try_from(number.as_i64().ok_or("no integer")?)?),
        (Some("long"), Json::Number(number)) => Value::Long(number.as_i64().ok_or("no integer")?),
        _ => return Err(format!("{json} is not of the type {schema}").into()),
    })
}

fn main() -> Result<(), Box<dyn Error>> {
    let args: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&args[3])?;
    let schema: Json = serde_json::from_str(&text)?;
    let fields = schema["fields"].as_array().ok_or("the schema is no record")?;
    let encoder = AvroEncoder::new(SrSettings::new_builder(args[1].clone()).no_proxy().build()?);
    let supplied = SuppliedSchema::new(None, SchemaType::Avro, text.clone());
    let subject = SubjectNameStrategy::TopicNameStrategyWithSchema(args[2].clone(), true, supplied);
    for line in std::io::stdin().lines() {
        let key: Json = serde_json::from_str(&line?)?;
        let mut values = Vec::new();
        for field in fields {
            let name = field["name"].as_str().ok_or("a field has no name")?;
            values.push((name, value(&key[name], &field["type"])?));
        }
        let bytes = encoder.encode(values, &subject)?;
        println!("{}", bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
    }
    Ok(())
}
