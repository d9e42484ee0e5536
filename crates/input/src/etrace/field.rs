use tracewright_etrace::SupportLayout;
use tracewright_etrace::stream::Config;

/// A parameter or an option of an encoder, by its name.
#[derive(Clone, Copy, Debug)]
pub struct Field {
    /// Its name: the specification's, without `_p`.
    pub name: &'static str,
    /// What it is part of.
    pub group: Group,
    /// What it means, in a few words.
    pub meaning: &'static str,
    kind: Kind,
    get: fn(&Config) -> u64,
    set: fn(&mut Config, u64),
}

/// What a field is part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    /// What the encoder is built with.
    Params,
    /// What is switched on.
    Options,
    /// How data is traced.
    Data,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Number,
    Flag,
    Layout,
}

/// How support packets are laid out: name and layout.
const LAYOUTS: [(&str, SupportLayout); 3] = [
    ("reference", SupportLayout::Reference),
    ("pulp", SupportLayout::Pulp),
    ("standard", SupportLayout::Standard),
];

macro_rules! fields {
    ($($kind:ident $group:ident $name:literal $($part:ident).+ : $meaning:literal;)*) => {
        &[$(Field {
            name: $name,
            group: Group::$group,
            meaning: $meaning,
            kind: Kind::$kind,
            get: fields!(@get $kind $($part).+),
            set: fields!(@set $kind $($part).+),
        },)*]
    };
    (@get Layout $($part:ident).+) => {
        |config| LAYOUTS.iter().position(|(_, layout)| *layout == config.$($part).+).unwrap_or(0) as u64
    };
    (@get $kind:ident $($part:ident).+) => { |config| config.$($part).+.into() };
    (@set Number $($part:ident).+) => { |config, value| config.$($part).+ = value as u8 };
    (@set Flag $($part:ident).+) => { |config, value| config.$($part).+ = value != 0 };
    (@set Layout $($part:ident).+) => { |config, value| config.$($part).+ = LAYOUTS[value as usize % 3].1 };
}

/// All parameters and options that one must know to read a trace.
pub const FIELDS: &[Field] = fields! {
    Number Params "iaddress_width" params.iaddress_width: "bits of an address";
    Number Params "iaddress_lsb" params.iaddress_lsb: "lowest bits of an address that are not sent";
    Flag Params "nocontext" params.nocontext: "contexts are not sent";
    Number Params "context_width" params.context_width: "bits of a context, if it is sent";
    Flag Params "notime" params.notime: "times are not sent";
    Number Params "time_width" params.time_width: "bits of a time, if it is sent";
    Number Params "privilege_width" params.privilege_width: "bits of a privilege";
    Number Params "ecause_width" params.ecause_width: "bits of a trap's cause";
    Number Params "f0s_width" params.f0s_width: "bits of the subformat of format 0";
    Number Params "bpred_size" params.bpred_size: "entries of the branch predictor: 2^n; 0 none";
    Number Params "cache_size" params.cache_size: "entries of the jump target cache: 2^n; 0 none";
    Number Params "call_counter_size" params.call_counter_size: "bits of the counter of calls; 0 none";
    Number Params "return_stack_size" params.return_stack_size: "entries of the stack of returns: 2^n; 0 none";
    Flag Params "sijump" params.sijump: "sequentially inferable jumps can be told apart";
    Flag Params "iret_ext" params.iret_ext: "draft 2.0.5: implicit returns are counted";
    Layout Params "support" params.support: "layout of support packets: reference, pulp, standard";
    Number Params "daddress_width" params.daddress_width: "bits of a data address";
    Number Params "data_width" params.data_width: "bits of the widest data access";
    Flag Options "implicit_return" options.implicit_return: "returns that the stack of calls foretells are not sent";
    Flag Options "implicit_exception" options.implicit_exception: "trap packets leave out the handler's address";
    Flag Options "full_address" options.full_address: "addresses are sent whole, not as differences";
    Flag Options "jump_target_cache" options.jump_target_cache: "targets sent before are sent as an index";
    Flag Options "branch_prediction" options.branch_prediction: "branches that are foretold are only counted";
    Flag Options "sijump" options.sijump: "jumps that the instruction before tells are not sent";
    Flag Data "no_address" data.no_address: "data addresses are not sent";
    Flag Data "no_data" data.no_data: "data values are not sent";
    Flag Data "full_daddress" data.full_address: "data addresses are sent whole, not as differences";
    Flag Data "full_data" data.full_data: "data values are sent whole, not as differences";
};

impl Field {
    /// The field that people mean by this name. `sijump` is the option; the parameter is `sijump_p`, as all parameters may
    /// be written.
    pub fn named(name: &str) -> Option<&'static Self> {
        let (name, is_param) = name.strip_suffix("_p").map_or((name, false), |name| (name, true));
        let mut fields = FIELDS.iter().filter(|field| field.name == name);
        if is_param { fields.find(|field| field.group == Group::Params) } else { fields.next_back() }
    }

    /// The field of a group with this name.
    pub fn of(group: Group, name: &str) -> Option<&'static Self> {
        FIELDS.iter().find(|field| field.group == group && field.name == name)
    }

    /// Its value, as [`put`](Self::put) takes it.
    pub fn text(&self, config: &Config) -> String {
        let value = (self.get)(config);
        match self.kind {
            Kind::Number => value.to_string(),
            Kind::Flag => (value != 0).to_string(),
            Kind::Layout => LAYOUTS[value as usize % LAYOUTS.len()].0.to_owned(),
        }
    }

    /// Whether its values are names, which text files write in quotes.
    pub fn is_name(&self) -> bool {
        self.kind == Kind::Layout
    }

    /// Whether it is on or off.
    pub fn is_flag(&self) -> bool {
        self.kind == Kind::Flag
    }

    /// Its value as a number; flags are 0 and 1.
    pub fn value(&self, config: &Config) -> u64 {
        (self.get)(config)
    }

    /// Gives it a value.
    ///
    /// # Errors
    /// Says what was expected.
    pub fn put(&self, config: &mut Config, text: &str) -> Result<(), String> {
        let found = |expected: &str| format!("{}={text}: expected {expected}", self.name);
        let value = match self.kind {
            Kind::Number => super::number(text)
                .filter(|value| *value <= 255)
                .ok_or_else(|| found("a number from 0 to 255"))?,
            Kind::Flag => match text {
                "true" | "on" | "yes" | "1" => 1,
                "false" | "off" | "no" | "0" => 0,
                _ => return Err(found("true or false")),
            },
            Kind::Layout => LAYOUTS
                .iter()
                .position(|(name, _)| *name == text)
                .ok_or_else(|| found("reference, pulp or standard"))? as u64,
        };
        (self.set)(config, value);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use tracewright_etrace::stream::Encapsulation;
    use tracewright_etrace::{Options, Params, data};

    use super::*;

    fn config() -> Config {
        Config {
            params: Params::default(),
            encapsulation: Encapsulation::Smi,
            options: Options::default(),
            data: data::Options::default(),
        }
    }

    /// Each field is what its name says: setting one changes only that one, and gives back what was put.
    #[test]
    fn fields_are_apart() {
        for field in FIELDS {
            let mut changed = config();
            let other = match (field.kind, field.value(&changed)) {
                (Kind::Number, value) => (value + 1).to_string(),
                (Kind::Flag, value) => (value == 0).to_string(),
                (Kind::Layout, _) => "pulp".into(),
            };
            field.put(&mut changed, &other).unwrap();
            let differ = |other: &&Field| other.text(&config()) != other.text(&changed);
            let changed: Vec<_> =
                FIELDS.iter().filter(differ).map(|field| (field.group, field.name)).collect();
            assert_eq!(changed, [(field.group, field.name)]);
        }
    }

    #[test]
    fn names_are_found() {
        let group = |name| Field::named(name).map(|field| field.group);
        assert_eq!(group("sijump"), Some(Group::Options));
        assert_eq!(group("sijump_p"), Some(Group::Params));
        assert_eq!(group("iaddress_width_p"), Some(Group::Params));
        assert_eq!(group("implicit_return_p"), None);
        assert_eq!(group("banana"), None);
    }

    #[test]
    fn errors_say_what_was_expected() {
        let error = |name, text| Field::named(name).unwrap().put(&mut config(), text).unwrap_err();
        assert_eq!(error("bpred_size", "256"), "bpred_size=256: expected a number from 0 to 255");
        assert_eq!(error("implicit_return", "maybe"), "implicit_return=maybe: expected true or false");
        assert_eq!(error("support", "x"), "support=x: expected reference, pulp or standard");
    }
}
