// The page of a training under way.

import { Learning } from "../live/learning.js";
import { onLog } from "../live/work.js";

const learning = new Learning();
onLog((state) => learning.draw(state.epochs));
