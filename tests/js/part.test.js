import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";
import { Part } from "../../static/js/live/part.js";

const asked = []; // per fetch, how it is answered
const shown = [];
const said = (text, status = 200) => ({ ok: status < 400, status, text: async () => text });
const answered = () => new Promise((resolve) => setImmediate(resolve));
globalThis.location = { search: "" };
globalThis.fetch = () => new Promise((resolve) => asked.push(resolve));

beforeEach(() => {
  asked.length = shown.length = 0;
});

function part(t) {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  return new Part("verdict", (text) => shown.push(text));
}

test("a burst is asked for once, a stream that never settles all the same", (t) => {
  const verdict = part(t);
  for (let i = 0; i < 5; i++) verdict.renew();
  t.mock.timers.tick(300);
  assert.equal(asked.length, 1);
  for (let i = 0; i < 15; i++) {
    verdict.renew();
    t.mock.timers.tick(200);
  }
  assert.ok(asked.length > 5, `asked ${asked.length} times in 3 s`);
});

test("answers slower than the asking are shown as they come, one that was overtaken is not", async (t) => {
  const verdict = part(t);
  for (let i = 0; i < 3; i++) {
    verdict.renew();
    t.mock.timers.tick(300);
  }
  asked[0](said("first"));
  await answered();
  asked[2](said("third"));
  await answered();
  asked[1](said("second"));
  await answered();
  assert.deepEqual(shown, ["first", "third"]);
});

test("while the server begins anew it is asked again", async (t) => {
  const verdict = part(t);
  verdict.renew();
  t.mock.timers.tick(300);
  asked[0](said("", 503));
  await answered();
  t.mock.timers.tick(3000);
  asked[1](said("there again"));
  await answered();
  assert.deepEqual(shown, ["there again"]);
});
