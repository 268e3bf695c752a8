// Files are judged by their first bytes before they are sent.

import assert from "node:assert";
import { test } from "node:test";

import { whyNot } from "../../static/js/forms/first-bytes.js";

function weights(headerBytes) {
  const bytes = new Uint8Array(8 + headerBytes + 4).fill(0x20);
  new DataView(bytes.buffer).setBigUint64(0, BigInt(headerBytes), true);
  bytes[8] = 0x7b;
  bytes[7 + headerBytes] = 0x7d;
  return new File([bytes], "model.safetensors");
}

const judged = (file, path = file.name) => whyNot({ file, path }, "model");

test("a header whose length looks like a pickle is one of safetensors", async () => {
  for (const headerBytes of [0x280, 0x380, 0x480, 0x580, 0x680]) assert.equal(await judged(weights(headerBytes)), "");
});

test("a pickle is refused under every name", async () => {
  const pickle = new File([new Uint8Array([0x80, 4, 0x95, 0, 0, 0, 0, 0, 0x7b, 0x2e])], "model.safetensors");
  for (const path of ["model.safetensors", "pytorch_model.bin", "notes.txt"]) assert.match(await judged(pickle, path), /is a pickle/);
});

test("a torn file of safetensors is refused", async () => {
  const whole = weights(0x680);
  assert.match(await judged(new File([whole.slice(0, 400)], "model.safetensors")), /not a whole safetensors file/);
});

test("GGUF is sent under its own name alone", async () => {
  const file = new File([new TextEncoder().encode("GGUF"), new Uint8Array(100)], "model-Q4_K_M.gguf");
  assert.equal(await judged(file), "");
  assert.match(await judged(file, "model.safetensors"), /is GGUF, the format of llama.cpp. Send it alone/);
});
