// Holds alibi(), put yours there, against a pack: node alibi.js ../fixtures
"use strict";
const fs = require("fs");

const ARRAYS = { F64: Float64Array, F32: Float32Array, I64: BigInt64Array, BOOL: Uint8Array };

// All tensors of a safetensors file, as flat typed arrays: 8 bytes of length, JSON of that length, data.
function tensors(path) {
  const file = fs.readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString("utf8", 8, start));
  const found = {};
  for (const [name, entry] of Object.entries(header)) {
    if (name === "__metadata__") continue;
    const [from, to] = entry.data_offsets;
    const bytes = new Uint8Array(file.subarray(start + from, start + to)); // a copy, aligned
    found[name] = new ARRAYS[entry.dtype](bytes.buffer);
  }
  return found;
}

// y[h, t, s] = -slopes[h] |q_offset + t - s|, or slopes[h] s with key_only; each product rounded once.
function alibi(slopes, { T, S, q_offset = 0, key_only = false }, Floats) {
  const y = new Floats(slopes.length * T * S);
  let i = 0;
  for (const slope of slopes) {
    for (let t = q_offset; t < q_offset + T; ++t) {
      for (let s = 0; s < S; ++s) y[i++] = slope * (key_only ? s : -Math.abs(t - s));
    }
  }
  return y;
}

// max |got - want| / tol: above 1 no rounding gets there. 0 where equal; NaN and a wrong length fail.
function budget(got, want, tol) {
  let worst = got.length === want.length && tol.length === want.length ? 0 : Infinity;
  for (let i = 0; i < want.length; ++i) {
    const one = got[i] === want[i] ? 0 : Math.abs(got[i] - want[i]) / tol[i];
    if (!(one <= worst)) worst = one >= 0 ? one : Infinity;
  }
  return worst;
}

function main(pack) {
  const manifest = JSON.parse(fs.readFileSync(`${pack}/MANIFEST.json`, "utf8"));
  let cases = 0;
  let failed = 0;
  for (const file of Object.keys(manifest.files)) {
    if (!/^cases\/alibi\/.*\.json$/.test(file)) continue;
    const path = `${pack}/${file.slice(0, -".json".length)}`;
    const about = JSON.parse(fs.readFileSync(`${path}.json`, "utf8"));
    const given = tensors(`${path}.in.safetensors`);
    const right = tensors(`${path}.out.safetensors`);
    for (const [profile, Floats] of [["f64", Float64Array], ["f32", Float32Array]]) {
      if (!about.profiles.includes(profile)) continue;
      const got = alibi(given["in.slopes"], about.params, Floats);
      const worst = budget(got, right["out.y"], right[`tol.${profile}.out.y`]);
      console.log(`${worst <= 1 ? "PASS" : "FAIL"}  ${path}  ${profile}  y  ${worst.toFixed(4)}`);
      failed += worst > 1;
    }
    cases += 1;
  }
  console.log(`${cases} cases, ${failed} results failed`);
  return cases === 0 ? 2 : Number(failed > 0);
}

try {
  process.exitCode = main(process.argv[2]);
} catch (error) {
  console.error(error.message);
  process.exitCode = 2;
}
