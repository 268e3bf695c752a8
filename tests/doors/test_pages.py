"""Pages: complete without scripts, one state in the URL, forms that say what is wrong beside the field."""

from __future__ import annotations

import re

from django.urls import reverse

from tests.kit import make
from tests.kit.everything import pages
from webapp.accounts.models import User
from webapp.comparisons import demo
from webapp.comparisons.models import Comparison
from webapp.core.templatetags.trail import CRUMBS
from webapp.jobs import services as jobs
from webapp.registry.models import LanguageModel, Pair
from worker.supervisor import starter


def trail(answer) -> list[tuple[str, str]]:
    """Return address and name of each breadcrumb; the page itself has no address."""
    found = re.search('<nav class="trail".*?</nav>', answer.content.decode(), re.DOTALL)
    return re.findall(r'<li(?: aria-current="page")?>(?:<a href="([^"]*)">)?([^<]*)', found[0]) if found else []


def test_every_page_has_one_thing_of_an_id_no_inline_script_and_a_link_to_each_level_above(world):
    client, wrong, above = world.page(world.bob), {}, set()
    for name, path in {**pages(world), "sign-in": "/sign-in/", "docs-page": "/docs/rest/", "none": "/none/"}.items():
        answer = client.get(path, follow=name == "sign-in")
        shown, policy = answer.content.decode(), answer["Content-Security-Policy"]
        ids = re.findall(r'\sid="([^"]+)"', shown)
        above |= {address for address, _ in trail(answer) if address}
        faults = {
            "two of one id": sorted({each for each in ids if ids.count(each) > 1}),
            "an inline script": re.findall(r'<script(?![^>]*\b(?:src=|type="application/json"))', shown),
            "an inline style or handler": re.findall(r"\s(?:on[a-z]+|style)=", shown),
            "an open policy": "script-src 'self'" not in policy or "unsafe" in policy,
            "a frame": (answer["X-Frame-Options"], answer["X-Content-Type-Options"]) != ("DENY", "nosniff"),
            "no trail": name in CRUMBS and name != "system" and not trail(answer),
        }
        wrong |= {(name, fault): found for fault, found in faults.items() if found}
    assert wrong == {}
    assert [address for address in above if client.get(address).status_code != 200] == []
    shared = Comparison.objects.first()
    levels = [address for address, _ in trail(client.get(f"/comparisons/{shared.pk}/shares/"))]
    assert levels == ["/team/", "/comparisons/", f"/comparisons/{shared.pk}/", ""]
    answer = client.get("/pairs/00000000-0000-0000-0000-000000000000/")
    assert answer.status_code == 404 and [address for address, _ in trail(answer)] == ["/team/", ""]


def test_a_new_team_is_led_to_its_first_comparison_and_who_has_none_to_make_one(world):
    shown = world.page(world.bob).get("/", follow=True).content.decode()
    assert "Add models" in shown and "Make a pair" in shown and reverse("new-dataset") in shown
    menu = re.search(r'<nav aria-label="Main">(.*?)</nav>', shown, re.DOTALL)[1]
    keys, told = re.findall(r'data-key="(.)"', menu), re.findall(r"<kbd>g</kbd> <kbd>(.)</kbd>", shown)
    assert len(keys) == menu.count("<a ") == len(set(keys)) and sorted(keys) == sorted(told)
    client = world.page(User.objects.create(username="dora"))
    assert client.get("/", follow=True).redirect_chain[-1][0] == "/team/new/"
    assert client.get("/models/").status_code == 403


def test_where_the_starter_pair_is_the_first_visit_is_one_click_from_a_comparison_of_it(world, by, capsys):
    client = world.page(world.bob)
    make.pair(by, name=demo.STARTER)
    assert "Run the demo" not in client.get("/comparisons/").content.decode()
    starter.launch_demo()
    assert capsys.readouterr().err == "There is no starter pair to show; the demo is left out.\n"
    make.dataset(by, count=3 * demo.PROMPTS + 1, name=f"{demo.STARTER} code")
    assert "Run the demo" in client.get("/comparisons/").content.decode()
    assert "Run the demo" not in world.page(world.victor).get("/comparisons/").content.decode()
    first = client.post(reverse("run-demo"))["Location"]
    made = Comparison.objects.get()
    assert first == f"/comparisons/{made.pk}/"
    assert (made.name, made.limit, made.split) == ("Demo", demo.PROMPTS, "test")
    assert client.post(reverse("run-demo"))["Location"] == first, "it has not ended"
    jobs.cancel(job=made.job, by=by)
    assert client.post(reverse("run-demo"))["Location"] != first


def test_a_comparison_is_planned_then_launched_and_what_is_wrong_is_told(world, ready):
    client, form = world.page(world.bob), {
        "pair": str(ready[0].pk), "dataset": str(ready[1].pk), "use": ["static", "threshold"],
        "static.lookahead": "2, 4", "threshold.threshold": "0.5", "threshold.cap": "9",
        "temperature": "0", "max_new_tokens": "8", "repeats": "1", "ignore_eos": "on",
    }  # fmt: skip
    assert "4 runs × 3 prompts" in client.post("/comparisons/new/", {**form, "plan": ""}).content.decode()
    for changes, told in (
        ({"static.lookahead": "65"}, "outside 1 to 64"),
        ({"temperature": "nan"}, "nan"),
        ({"pair": ""}, "needs a pair, and none is chosen"),
        ({"use": []}, "may not be empty"),
    ):
        answer = client.post("/comparisons/new/", {**form, **changes, "launch": ""})
        assert answer.status_code == 422 and told in answer.content.decode()
    assert not Comparison.objects.exists()
    answer = client.post("/comparisons/new/", {**form, "launch": ""})
    made = Comparison.objects.get()
    assert answer["Location"] == f"/comparisons/{made.pk}/"
    assert made.sampling["ignore_eos"] is True
    labels = [run.label for run in made.runs.all()]
    assert labels == ["autoregressive", "static:2", "static:4", "threshold:0.5,cap=9"]


def test_an_entry_is_deleted_on_its_own_page_and_restored_at_once_or_from_the_bin(world, ready):
    client, verb, pair = world.page(world.bob), "<button>{}</button>", ready[0]
    assert verb.format("Delete") not in client.get("/pairs/").content.decode()
    assert verb.format("Delete") in client.get(f"/pairs/{pair.pk}/").content.decode()
    shown = client.post(f"/pairs/{pair.pk}/bin/", follow=True).content.decode()
    undo = f"/pairs/{pair.pk}/restore/"
    assert f'action="{undo}"' in shown and "Undo" in shown
    assert verb.format("Restore") in client.get("/pairs/?bin=1").content.decode()
    client.post(undo)
    assert Pair.objects.get().binned is None


def test_lists_search_filter_sort_and_page_by_their_address(world, by):
    upload = make.upload(by, make.checkpoint())
    LanguageModel.objects.bulk_create(
        LanguageModel(team=world.team, name=f"model {n:02}", source="upload", upload=upload, state="ready")
        for n in range(60)
    )
    client = world.page(world.victor)

    def names(**query):
        return [row.name for row in client.get("/models/", query).context["list"].rows]

    assert names(ordering="name")[:2] == ["model 00", "model 01"]
    assert names(ordering="-name")[0] == "model 59"
    assert names(q="model 07") == ["model 07"]
    assert names(state="refused") == []
    assert len(names(page="2")) == 10
    assert len(names(ordering="nonsense", state="nonsense", page="nonsense", q="\0")) == 50
