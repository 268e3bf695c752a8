// The page of a training under way.

import { Learning } from "./learning.js";
import { onLog } from "./work.js";

const learning = new Learning();
onLog((state) => learning.draw(state.epochs));
