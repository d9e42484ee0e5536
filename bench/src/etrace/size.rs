//! How small traces are.

pub fn tables(_check: bool) -> Result<usize, String> {
    Ok(0)
}
