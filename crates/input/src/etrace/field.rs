use tracewright_etrace::stream::Config;
use tracewright_etrace::{Attribute, OptionField, Options, Params, ParamsError, data};

/// Parameter or option of an encoder, by name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Name in the specification, without `_p`.
    pub name: &'static str,
    /// Group of the field.
    pub group: Group,
    /// Meaning in a few words.
    pub meaning: &'static str,
    /// Attribute; `None` for an option.
    attribute: Option<&'static Attribute>,
}

/// Group of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// Fixed attributes of the encoder.
    Params,
    /// Options of instruction trace.
    Options,
    /// Options of data trace.
    Data,
}

/// Returns all parameters and options that are needed to read a trace.
pub fn fields() -> impl Iterator<Item = Field> {
    let any = Params::default();
    let kept = Params::fields().iter().filter(move |attribute| attribute.value(&any).is_some());
    let params = kept.map(|attribute| Field {
        name: attribute.name,
        group: Group::Params,
        // Flags have words as values here.
        meaning: attribute.meaning.strip_prefix("1: ").unwrap_or(attribute.meaning),
        attribute: Some(attribute),
    });
    let options = Options::fields().iter().map(|field| option(field, Group::Options));
    params.chain(options).chain(data::Options::fields().iter().map(|field| option(field, Group::Data)))
}

fn option<T>(field: &OptionField<T>, group: Group) -> Field {
    Field { name: field.name, group, meaning: field.meaning, attribute: None }
}

impl Field {
    /// Returns the field with this name. `sijump` is the option; the parameter is `sijump_p`. The suffix is
    /// optional for other parameters.
    pub fn named(name: &str) -> Option<Self> {
        match name.strip_suffix("_p") {
            Some(name) => Self::of(Group::Params, name),
            None => fields().filter(|field| field.name == name).last(),
        }
    }

    /// Returns the field of a group with this name.
    pub fn of(group: Group, name: &str) -> Option<Self> {
        fields().find(|field| field.group == group && field.name == name)
    }

    /// Returns the value in the form that [`put`](Self::put) accepts.
    pub fn text(&self, config: &Config) -> String {
        let on = |(_, on): (_, bool)| on.to_string();
        let is_it = |(name, _): &(&str, bool)| *name == self.name;
        let text = match (self.attribute, self.group) {
            (Some(attribute), _) => attribute.value(&config.params),
            (None, Group::Data) => config.data.names().find(is_it).map(on),
            (None, _) => config.options.names().find(is_it).map(on),
        };
        let text = text.unwrap_or_default();
        match text.as_str() {
            "1" if self.is_flag() => "true".into(),
            "0" if self.is_flag() => "false".into(),
            _ => text,
        }
    }

    /// Returns whether the field is a flag.
    pub fn is_flag(&self) -> bool {
        self.attribute.is_none_or(Attribute::is_flag)
    }

    /// Returns the value, if it is a number.
    pub fn number(&self, config: &Config) -> Option<u64> {
        self.text(config).parse().ok()
    }

    /// Sets the field.
    ///
    /// # Errors
    /// Fails if `text` is not a valid value.
    pub fn put(&self, config: &mut Config, text: &str) -> Result<(), ParamsError> {
        if self.attribute.is_some() {
            return config.params.set(self.name, text);
        }
        let on = match text {
            "true" | "on" | "yes" | "1" => true,
            "false" | "off" | "no" | "0" => false,
            _ => {
                let why = format!("`{text}` is neither true nor false");
                return Err(ParamsError { name: self.name.to_owned(), why });
            }
        };
        match self.group {
            Group::Data => config.data.set(self.name, on),
            _ => config.options.set(self.name, on),
        };
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracewright_etrace::stream::Encapsulation;

    use super::*;

    fn config() -> Config {
        Config {
            params: Params::default(),
            encapsulation: Encapsulation::Smi,
            options: Options::default(),
            data: data::Options::default(),
        }
    }

    /// Checks that setting a field changes only that field.
    #[test]
    fn fields_are_apart() {
        for field in fields() {
            let mut changed = config();
            // Another value that the field accepts.
            let others = ["true", "false", "reference", "pulp", "xor", "1", "2", "8", "31", "32", "0"];
            let is_other = |other: &&str| {
                let before = field.text(&changed);
                *other != before && field.put(&mut changed.clone(), other).is_ok()
            };
            let other = others.into_iter().find(is_other).unwrap();
            field.put(&mut changed, other).unwrap();
            let differ = |other: &Field| other.text(&config()) != other.text(&changed);
            let changed: Vec<_> = fields().filter(differ).map(|field| (field.group, field.name)).collect();
            assert_eq!(changed, [(field.group, field.name)]);
        }
    }

    #[test]
    fn names_are_found() {
        let group = |name| Field::named(name).map(|field| field.group);
        assert_eq!(group("sijump"), Some(Group::Options));
        assert_eq!(group("sijump_p"), Some(Group::Params));
        assert_eq!(group("iaddress_width_p"), Some(Group::Params));
        assert_eq!(group("full_daddress"), Some(Group::Data));
        assert_eq!(group("implicit_return_p"), None);
        assert_eq!(group("filters"), None);
        assert_eq!(group("banana"), None);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error =
            |name, text| Field::named(name).unwrap().put(&mut config(), text).unwrap_err().to_string();
        assert_eq!(error("bpred_size", "256"), "bpred_size: 256 is not from 0 to 16");
        assert_eq!(error("implicit_return", "maybe"), "implicit_return: `maybe` is neither true nor false");
        assert_eq!(error("support", "x"), "support: `x` is none of reference, pulp, standard");
    }
}
