import assert from "node:assert/strict";
import test from "node:test";
import { inSteps, roomOf } from "../../static/js/live/room.js";

const ours = (ns, isOver = true) => ({ ns, isOver, mayLeave: false });
const peer = (ns) => ({ ns, isOver: true, mayLeave: true });

test("the slowest lane fits, and so does a peer that is not much slower", () => {
  assert.deepEqual(roomOf([ours(300), ours(200)]), { ns: 300, isCut: false });
  assert.deepEqual(roomOf([ours(300), ours(200), peer(600)]), { ns: 600, isCut: false });
  assert.deepEqual(roomOf([]), { ns: 0, isCut: false });
});

test("a peer that takes many times as long runs out of the picture", () => {
  assert.deepEqual(roomOf([ours(400), ours(200), peer(4000)]), { ns: 500, isCut: true });
});

test("one of ours never does, however slow it is", () => {
  assert.deepEqual(roomOf([ours(4000), ours(200), peer(100)]), { ns: 4000, isCut: false });
});

test("a peer alone, or beside what has only begun, has the room it takes", () => {
  assert.deepEqual(roomOf([peer(4000)]), { ns: 4000, isCut: false });
  assert.deepEqual(roomOf([peer(4000), ours(10, false)]), { ns: 4000, isCut: false });
  assert.deepEqual(roomOf([peer(4000), ours(10, false), ours(300)]), { ns: 375, isCut: true });
});

test("under way it grows in steps that leave a little room", () => {
  assert.deepEqual([700, 769, 1000, 1024].map(inSteps), [768, 1024, 1024, 1024]);
});
