// A page whose charts show what came with it.

import { chartsOf, dataOf } from "../core/charts.js";

(await chartsOf()).draw(dataOf());
