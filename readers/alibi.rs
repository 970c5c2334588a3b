// Holds alibi(), put yours there, against a pack: rustc --edition 2021 -O alibi.rs && ./alibi ../fixtures
use std::{env, error::Error, fs, process};
/// The text of a member of a JSON object, not of what is nested in it; "" where there is none.
fn member<'a>(json: &'a str, key: &str) -> &'a str {
    let (bytes, mut depth, mut i) = (json.as_bytes(), 0, 0);
    let (mut word, mut value) = ("", None); // the string read last; where the member's value begins
    while i < bytes.len() {
        let from = i;
        if bytes[i] == b'"' {
            i += 1;
            while bytes[i] != b'"' { i += 1 + usize::from(bytes[i] == b'\\') }
            word = &json[from + 1..i];
        }
        depth += i32::from(b"{[".contains(&bytes[from])) - i32::from(b"}]".contains(&bytes[from]));
        match value {
            Some(start) if depth == 0 || (depth == 1 && bytes[from] == b',') => return json[start..i].trim(),
            None if depth == 1 && bytes[from] == b':' && word == key => value = Some(i + 1),
            _ => {}
        }
        i += 1;
    }
    ""
}
/// A tensor of a safetensors file: 8 bytes of length, JSON of that length, data.
fn tensor(file: &[u8], name: &str) -> Result<Vec<f64>, Box<dyn Error>> {
    let start = 8 + u64::from_le_bytes(file[..8].try_into()?) as usize;
    let entry = member(std::str::from_utf8(&file[8..start])?, name);
    let offsets = member(entry, "data_offsets").trim_matches(['[', ']']);
    let (from, to) = offsets.split_once(',').ok_or(format!("no tensor {name}"))?;
    let data = &file[start + from.trim().parse::<usize>()?..start + to.trim().parse::<usize>()?];
    Ok(match member(entry, "dtype") {
        "\"F64\"" => data.chunks_exact(8).map(|x| f64::from_le_bytes(x.try_into().unwrap())).collect(),
        _ => data.chunks_exact(4).map(|x| f32::from_le_bytes(x.try_into().unwrap()).into()).collect(),
    })
}

/// y[h, t, s] = -slopes[h] |q_offset + t - s|, or slopes[h] s with key_only; rounded to a precision.
fn alibi(slopes: &[f64], params: &str, round: fn(f64) -> f64) -> Vec<f64> {
    let integer = |name| member(params, name).parse().unwrap_or(0);
    let (queries, keys, q_offset): (i64, i64, i64) = (integer("T"), integer("S"), integer("q_offset"));
    let key_only = member(params, "key_only") == "true";
    let mut y = vec![];
    for slope in slopes {
        for t in q_offset..q_offset + queries {
            y.extend((0..keys).map(|s| round(slope * if key_only { s } else { -(t - s).abs() } as f64)));
        }
    }
    y
}

/// max |got - want| / tol: above 1 no rounding gets there. 0 where equal; NaN fails.
fn budget(got: &[f64], want: &[f64], tol: &[f64]) -> f64 {
    assert_eq!((got.len(), tol.len()), (want.len(), want.len()));
    let one = |i| if got[i] == want[i] { 0.0 } else { f64::abs(got[i] - want[i]) / tol[i] };
    (0..want.len()).map(one).fold(0.0, |worst: f64, b| if b.is_nan() { f64::INFINITY } else { worst.max(b) })
}

fn check() -> Result<i32, Box<dyn Error>> {
    let (mut cases, mut failed) = (0, 0);
    for file in fs::read_dir(env::args().nth(1).ok_or("which pack?")? + "/cases/alibi")? {
        let file = file?.path().display().to_string();
        let Some(path) = file.strip_suffix(".json") else { continue };
        let about = fs::read_to_string(&file)?;
        let slopes = tensor(&fs::read(format!("{path}.in.safetensors"))?, "in.slopes")?;
        let right = fs::read(format!("{path}.out.safetensors"))?;
        for (profile, round) in [("f64", (|x| x) as fn(f64) -> f64), ("f32", |x| x as f32 as f64)] {
            if !member(&about, "profiles").contains(profile) { continue; }
            let got = alibi(&slopes, member(&about, "params"), round);
            let tol = tensor(&right, &format!("tol.{profile}.out.y"))?;
            let worst = budget(&got, &tensor(&right, "out.y")?, &tol);
            println!("{}  {path}  {profile}  y  {worst:.4}", if worst <= 1.0 { "PASS" } else { "FAIL" });
            failed += i32::from(worst > 1.0);
        }
        cases += 1;
    }
    println!("{cases} cases, {failed} results failed");
    Ok(if cases == 0 { 2 } else { i32::from(failed > 0) })
}
fn main() { process::exit(check().map_err(|error| eprintln!("{error}")).unwrap_or(2)) }
