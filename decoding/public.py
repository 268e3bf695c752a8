"""The one door: every name that the web process may use of `decoding`. Everything behind it is standard library only.

Import from here in `webapp`; modules behind the door may then move without the service knowing. To let the service see
something new, add its name here; an import contract refuses any other way, and anything that would load torch.
"""

from decoding import bounded_json, prompt_containers, prompts, summary
from decoding.config_bounds import check_against_tensors, check_numbers
from decoding.costs import Costs, costs_from, drafting_is_clear
from decoding.errors import BadCheckpoint, BadPair, BadPrompts, BadSampling, BadStrategy, meant
from decoding.events import Anticipated, Drafted, Event, Finished, Verified, from_dict
from decoding.intervals import fewest_rows, median_interval
from decoding.misfit import misfit
from decoding.pairs import check_pair
from decoding.params import LONGEST_TEXT, Param
from decoding.prompt_containers import is_json_array, table_rows
from decoding.prompt_forms import FORMS
from decoding.prompts import Prompt
from decoding.ranking import order, ranking
from decoding.replay import Counts, HeuristicPolicy, OraclePolicy, Policy, Record, Static, replay
from decoding.spec import STRATEGIES, Choice, Sampling, choose, parse_choices
from decoding.ssd import memory
from decoding.ssd.fanout import NAMES
from decoding.ssd.outcomes import RANKS
from decoding.ssd.pace import Pace
from decoding.ssd.planning import planner_for
from decoding.ssd.prices import Prices, prices_from
from decoding.ssd.settings import Settings
from decoding.ssd.simulated import ANYTIME, IN_TURN, Plan, Simulated
from decoding.ssd.simulator import simulate
from decoding.ssd.track import Track
from decoding.strategy_spec import StrategySpec
from decoding.summary import AUTOREGRESSIVE, DEFINITIONS, so_few
from decoding.verdict import verdict

__all__ = [
    "ANYTIME",
    "AUTOREGRESSIVE",
    "DEFINITIONS",
    "FORMS",
    "IN_TURN",
    "LONGEST_TEXT",
    "NAMES",
    "RANKS",
    "STRATEGIES",
    "Anticipated",
    "BadCheckpoint",
    "BadPair",
    "BadPrompts",
    "BadSampling",
    "BadStrategy",
    "Choice",
    "Costs",
    "Counts",
    "Drafted",
    "Event",
    "Finished",
    "HeuristicPolicy",
    "OraclePolicy",
    "Pace",
    "Param",
    "Plan",
    "Policy",
    "Prices",
    "Prompt",
    "Record",
    "Sampling",
    "Settings",
    "Simulated",
    "Static",
    "StrategySpec",
    "Track",
    "Verified",
    "bounded_json",
    "check_against_tensors",
    "check_numbers",
    "check_pair",
    "choose",
    "costs_from",
    "drafting_is_clear",
    "fewest_rows",
    "from_dict",
    "is_json_array",
    "meant",
    "median_interval",
    "memory",
    "misfit",
    "order",
    "parse_choices",
    "planner_for",
    "prices_from",
    "prompt_containers",
    "prompts",
    "ranking",
    "replay",
    "simulate",
    "so_few",
    "summary",
    "table_rows",
    "verdict",
]
