import assert from "node:assert/strict";
import { test } from "node:test";
import { Whenever } from "../../static/js/core/whenever.js";

let seen; // tells the newest one what is on the screen
globalThis.IntersectionObserver = class {
  constructor(call) { seen = (isIntersecting) => call([{ isIntersecting, boundingClientRect: { width: 100 } }]); }
  observe() {}
};

test("what is not on the screen waits, the latest of it alone, and is done at once when somebody looks or prints", (t) => {
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const done = [], drawn = new Whenever(0, {});
  const draw = (name) => drawn.call(true, () => done.push(name));
  draw("a");
  seen(false);
  draw("b");
  draw("c");
  assert.deepEqual(done, ["a"]);
  seen(true);
  assert.deepEqual(done, ["a", "c"]);
  seen(false);
  draw("d");
  drawn.now();
  drawn.now();
  assert.deepEqual(done, ["a", "c", "d"]);
  draw("e");
  t.mock.timers.tick(2000);
  assert.deepEqual(done, ["a", "c", "d", "e"]);
});
