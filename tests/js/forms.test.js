// What forms do by themselves: what if, and files before they are sent.
import assert from "node:assert/strict";
import { createHash, randomBytes } from "node:crypto";
import { test } from "node:test";
import { onCurve, pieces } from "../../static/js/forms/curve.js";
import { whyNot } from "../../static/js/forms/first-bytes.js";
import { plain } from "../../static/js/forms/sha256.js";
import { asked, canBe, question, toRun } from "../../static/js/forms/whatif.js";

const gain = (ratio, low = ratio - 0.1, high = ratio + 0.1) => ({ ratio, low, high, prompts: 12 });
const ran = (strategy, params, label, ratio, more = {}) => ({ strategy, params, label, name: label, role: "ranked", speedup: gain(ratio), ...more });
const ANSWER = {
  label: "static:3", strategy: "static", params: { lookahead: 3 }, speedup: gain(1.3), bound: 1.6, error: 0.034,
  measured: [ran("static", { lookahead: 2 }, "static:2", 1.2), ran("threshold", { threshold: 0.4, cap: 20 }, "threshold:0.4", 1.25),
    ran("oracle", { cap: 32 }, "oracle:32", 1.5, { role: "bound" })],
  curve: { param: "lookahead", points: [1, 2, 3, 4].map((value) => ({ value, ratio: 1.1, low: 1, high: 1.2, unmeasured: value > 2 ? 0.5 : 0 })) },
};

test("a setting is read from the way labels spell it, and a knob stays where it is for a value that it cannot show", () => {
  const params = { static: "lookahead", threshold: "threshold", hybrid: "" };
  assert.deepEqual(asked("threshold:0.2,cap=8", params), { strategy: "threshold", knobs: { threshold: "0.2", cap: "8" } });
  assert.deepEqual(asked("static:6 @16", params), { strategy: "static", knobs: { lookahead: "6", users: "16" } });
  assert.deepEqual(asked("hybrid @4", params), { strategy: "hybrid", knobs: { users: "4" } });
  for (const label of [null, "", "oracle:32", "nonsense"]) assert.equal(asked(label, params), null);
  assert.equal(question("threshold", { threshold: "0.2", cap: "8" }), "strategy=threshold&threshold=0.2&cap=8");
  assert.deepEqual(["0.05", "0.95", "0", "x"].map((value) => canBe({ min: "0.05", max: "0.95" }, value)), [true, true, false, false]);
  assert.ok(canBe({ options: [{ value: "uniform" }] }, "uniform") && !canBe({ options: [] }, "uniform"));
});

test("to run it is to run it beside the fastest that the same form can hold", () => {
  assert.equal(toRun(ANSWER), "static:3,threshold:0.4");
  const over = { strategy: "threshold", params: { threshold: 0.2, cap: 8 }, curve: { ...ANSWER.curve, param: "threshold" } };
  const capped = { ...ANSWER, ...over, label: "threshold:0.2,cap=8" };
  assert.equal(toRun(capped), "threshold:0.2,cap=8,static:2"); // the form has one cap
  assert.equal(toRun({ ...ANSWER, label: "static:3 @16", measured: [ran("static", { lookahead: 2 }, "static:2 @16", 1.2)] }), "static:3,static:2");
});

test("a measured run lies on the curve if it differs in nothing else, and the line is broken where its price is extended", () => {
  assert.deepEqual(onCurve(ANSWER).map((row) => row.label), ["static:2"]);
  const over = { ...ANSWER, strategy: "threshold", curve: { ...ANSWER.curve, param: "threshold" } };
  assert.deepEqual(onCurve({ ...over, params: { threshold: 0.1, cap: 20 } }).map((row) => row.label), ["threshold:0.4"]);
  assert.deepEqual(onCurve({ ...over, params: { threshold: 0.4, cap: 8 } }), []);
  const found = pieces(ANSWER.curve.points).map((piece) => [piece.isExtended, piece.points.map((point) => point.value)]);
  assert.deepEqual(found, [[false, [1, 2]], [true, [2, 3, 4]]]);
});

// ---- files

function weights(headerBytes) {
  const bytes = new Uint8Array(8 + headerBytes + 4).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerBytes), true);
  bytes[8] = 0x7b;
  bytes[7 + headerBytes] = 0x7d;
  return new File([bytes], "model.safetensors");
}

test("a pickle is refused under every name, a torn file too, GGUF under another name, and no header of safetensors", async () => {
  const judged = (file, path = file.name) => whyNot({ file, path }, "model");
  for (const headerBytes of [0x280, 0x480]) assert.equal(await judged(weights(headerBytes)), ""); // a length that looks like a pickle
  const pickle = new File([new Uint8Array([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0x7b, 0x2e])], "model.safetensors");
  for (const path of ["model.safetensors", "pytorch_model.bin", "notes.txt"]) assert.match(await judged(pickle, path), /is a pickle/);
  assert.match(await judged(new File([weights(0x680).slice(0, 400)], "model.safetensors")), /not a whole safetensors file/);
  const gguf = new File([new TextEncoder().encode("GGUF"), new Uint8Array(100)], "model-Q4_K_M.gguf");
  assert.equal(await judged(gguf), "");
  assert.match(await judged(gguf, "model.safetensors"), /is GGUF, the format of llama.cpp. Send it alone/);
});

test("our own SHA-256 agrees with node's at every awkward length", () => {
  for (const length of [0, 1, 55, 56, 63, 64, 119, 120, 100_003]) {
    const bytes = randomBytes(length), copy = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + length);
    assert.equal(Buffer.from(plain(copy)).toString("hex"), createHash("sha256").update(bytes).digest("hex"));
  }
});
