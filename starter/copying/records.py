"""JSON to fill in: the keys, and often the values, stand in the prompt."""

import json
import random
from collections.abc import Callable, Iterator

from starter.copying.task import Task

Value = str | int | bool
Record = dict[str, Value]

PER_KIND = 4  # tasks of each kind from one domain
CITIES = ("Oslo", "Lima", "Nairobi", "Hanoi", "Porto", "Quito", "Tampere", "Dakar", "Busan", "Leeds")
PEOPLE = (
    "Ada Okafor",
    "Ben Lindqvist",
    "Chitra Rao",
    "Dario Conti",
    "Eun Park",
    "Farah Aziz",
    "Greta Holm",
    "Hugo Paz",
)
DAYS = tuple(f"2026-{month:02}-{day:02}" for month in range(1, 13) for day in (3, 11, 18, 27))
Choices = tuple[Value, ...]

TRAIN: dict[str, dict[str, Choices]] = {
    "flight": {
        "flight_number": ("KL 1041", "DY 620", "ET 715", "VN 54"),
        "departure_city": CITIES,
        "arrival_city": CITIES,
        "departure_date": DAYS,
        "passenger_name": PEOPLE,
        "seat": ("4A", "17C", "22F", "31B"),
        "checked_bags": (0, 1, 2),
    },
    "book": {
        "title": ("The Salt Road", "Seven Winters", "A Map of Rivers", "The Quiet Engine"),
        "author_name": PEOPLE,
        "year_published": tuple(range(1981, 2026)),
        "publisher": ("North Press", "Harbour Books", "Field and Stone"),
        "language": ("English", "Spanish", "Finnish", "Vietnamese"),
        "page_count": tuple(range(120, 640, 7)),
        "in_print": (True, False),
    },
    "patient": {
        "patient_name": PEOPLE,
        "date_of_birth": tuple(f"{year}-05-14" for year in range(1940, 2010)),
        "ward": ("Cardiology", "Surgery", "Neurology"),
        "room_number": tuple(range(101, 460, 9)),
        "attending_physician": PEOPLE,
        "admission_date": DAYS,
        "is_insured": (True, False),
    },
    "invoice": {
        "invoice_number": tuple(f"INV-{number}" for number in range(20417, 20917, 13)),
        "customer_name": PEOPLE,
        "billing_city": CITIES,
        "issue_date": DAYS,
        "due_date": DAYS,
        "currency": ("EUR", "USD", "NOK", "KES"),
        "total_amount": tuple(range(90, 9000, 110)),
    },
    "sensor": {
        "sensor_identifier": tuple(f"sensor-{number:03}" for number in range(7, 400, 11)),
        "location": CITIES,
        "measured_quantity": ("temperature", "humidity", "pressure", "wind speed"),
        "sampling_interval_seconds": (5, 10, 30, 60, 300),
        "last_calibrated": DAYS,
        "battery_percent": tuple(range(11, 100, 4)),
        "is_online": (True, False),
    },
    "employee": {
        "employee_name": PEOPLE,
        "job_title": ("software engineer", "accountant", "project manager", "technical writer"),
        "department": ("Research", "Finance", "Operations", "Support"),
        "office_location": CITIES,
        "manager_name": PEOPLE,
        "start_date": DAYS,
        "works_remotely": (True, False),
    },
}
VALIDATION: dict[str, dict[str, Choices]] = {
    "parcel": {
        "tracking_number": tuple(f"PX{number}NO" for number in range(410023, 430000, 997)),
        "sender_name": PEOPLE,
        "recipient_name": PEOPLE,
        "destination_city": CITIES,
        "weight_grams": tuple(range(150, 9000, 350)),
        "shipping_date": DAYS,
        "signature_required": (True, False),
    },
    "recipe": {
        "recipe_name": ("lentil soup", "rye bread", "fish pie", "mango salad"),
        "cuisine": ("Indian", "Nordic", "Peruvian", "Korean"),
        "preparation_minutes": (10, 15, 25, 40),
        "cooking_minutes": (0, 20, 35, 90),
        "number_of_servings": (2, 4, 6),
        "is_vegetarian": (True, False),
        "contributed_by": PEOPLE,
    },
}
TEST: dict[str, dict[str, Choices]] = {
    "hotel booking": {
        "guest_name": PEOPLE,
        "hotel_city": CITIES,
        "check_in_date": DAYS,
        "number_of_nights": (1, 2, 3, 5, 8),
        "room_type": ("single room", "double room", "family room"),
        "breakfast_included": (True, False),
        "confirmation_code": tuple(f"HB-{number}" for number in range(3301, 3999, 17)),
    },
    "support ticket": {
        "ticket_number": tuple(range(88012, 89999, 31)),
        "opened_by": PEOPLE,
        "assigned_to": PEOPLE,
        "opened_on": DAYS,
        "priority": ("low", "normal", "high", "urgent"),
        "current_status": ("open", "waiting for customer", "resolved"),
        "product_name": ("Billing portal", "Mobile app", "Data export"),
    },
    "vehicle": {
        "registration_number": tuple(f"AB {number} CD" for number in range(101, 999, 19)),
        "owner_name": PEOPLE,
        "manufacturer": ("Volvo", "Toyota", "Renault", "Hyundai"),
        "model_year": tuple(range(1998, 2027)),
        "fuel_type": ("petrol", "diesel", "electric"),
        "registered_in": CITIES,
        "last_inspection_date": DAYS,
    },
    "course": {
        "course_title": ("Linear Algebra", "Operating Systems", "Modern History", "Statistics"),
        "instructor_name": PEOPLE,
        "campus_location": CITIES,
        "first_lecture_date": DAYS,
        "credit_points": (3, 5, 6, 10),
        "maximum_students": tuple(range(12, 200, 6)),
        "taught_online": (True, False),
    },
}
DOMAINS = {"train": TRAIN, "validation": VALIDATION, "test": TEST}
TYPES = {str: "string", int: "integer", bool: "boolean"}


def records(domain: str, fields: dict[str, Choices], seed: int, per_kind: int = PER_KIND) -> Iterator[Task]:
    """Yield tasks of every kind about one domain."""
    dice = random.Random(f"{domain} {seed}")
    for kind, make in KINDS.items():
        for _ in range(per_kind):
            text, reference = make(domain, fields, dice)
            yield Task(text, reference, kind, domain)


def _record(fields: dict[str, Choices], dice: random.Random) -> Record:
    return {name: dice.choice(choices) for name, choices in fields.items()}


def _notes(record: Record) -> str:
    lines = [f"- {name.replace('_', ' ')}: {json.dumps(value).strip(chr(34))}" for name, value in record.items()]
    return "\n".join(lines)


def _answer(value: object) -> tuple[str, str]:
    """Split an answer after its first character, which ends the prompt."""
    text = json.dumps(value, indent=2)
    return text[:1], f"{text[1:]}\n"


def fill(domain: str, fields: dict[str, Choices], dice: random.Random) -> tuple[str, str]:
    """Notes and an empty record; the answer is the record with the values of the notes."""
    record = _record(fields, dice)
    empty = json.dumps(dict.fromkeys(fields), indent=2)
    begun, rest = _answer(record)
    return (
        f"Notes about a {domain}:\n\n{_notes(record)}\n\nThe form:\n\n{empty}\n\nThe form, filled in:\n\n{begun}",
        rest,
    )


def schema(domain: str, fields: dict[str, Choices], dice: random.Random) -> tuple[str, str]:
    """Notes and a schema; the answer is an object of the schema with the values of the notes."""
    record = _record(fields, dice)
    described = {name: {"type": TYPES[type(value)]} for name, value in record.items()}
    whole = {"title": domain, "type": "object", "properties": described}
    begun, rest = _answer(record)
    shown = json.dumps(whole, indent=2)
    return f"A JSON schema:\n\n{shown}\n\nNotes:\n\n{_notes(record)}\n\nAn object of the schema:\n\n{begun}", rest


def update(domain: str, fields: dict[str, Choices], dice: random.Random) -> tuple[str, str]:
    """A record and one change to it; the answer is the changed record."""
    record = _record(fields, dice)
    name = dice.choice(list(fields))
    value = dice.choice([choice for choice in fields[name] if choice != record[name]])
    begun, rest = _answer({**record, name: value})
    shown, new = json.dumps(record, indent=2), json.dumps(value)
    return f"A {domain}:\n\n{shown}\n\nThe same {domain}, with {name} set to {new}:\n\n{begun}", rest


def extend(domain: str, fields: dict[str, Choices], dice: random.Random) -> tuple[str, str]:
    """A list of three records, and notes about the next; the answer is the next record as the list goes on."""
    *listed, last = (_record(fields, dice) for _ in range(4))
    shown = json.dumps(listed, indent=2).removesuffix("\n]")
    _, rest = _answer([last])
    text = f"Notes about the last {domain} of the list:\n\n{_notes(last)}\n\nThe list:\n\n{shown},"
    return text, rest


KINDS: dict[str, Callable[[str, dict[str, Choices], random.Random], tuple[str, str]]] = {
    "fill": fill,
    "schema": schema,
    "update": update,
    "extend": extend,
}
