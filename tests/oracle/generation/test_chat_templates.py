"""Prompts as Jinja makes them, with the settings that Hugging Face's libraries have for chat templates."""

import json
from datetime import datetime, timezone

import jinja2
import pytest
from jinja2.sandbox import ImmutableSandboxedEnvironment

TIME = datetime(2026, 3, 9, 7, 5, tzinfo=timezone.utc)

TEMPLATES = {
    "chatml": """{%- for message in messages %}
    {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>' + '\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}""",
    "alternating": """{{ bos_token }}{% for message in messages %}
{% if (message['role'] == 'user') != (loop.index0 % 2 == 0) %}
{{ raise_exception('Roles must alternate user/assistant/user/assistant') }}
{% endif %}
{% if message['role'] == 'user' %}{{ '[INST] ' + message['content'] | trim + ' [/INST]' }}
{% else %}{{ ' ' + message['content'] + eos_token }}{% endif %}
{% endfor %}""",
    "dated": """{% set system = messages[0]['content'] if messages[0]['role'] == 'system' else 'You help.' %}
{% if messages[0]['role'] == 'system' %}{% set messages = messages[1:] %}{% endif %}
<|header|>system: {{ strftime_now('%d %b %Y') }} {{ system }}
{% for message in messages %}<|header|>{{ message.role }}: {{ message.content }}
{% endfor %}{% if add_generation_prompt %}<|header|>assistant: {% endif %}""",
    "tools": """{% macro named(tool) %}{{ tool.function.name }}({% for name, kind in tool.function.parameters.properties.items() %}{{ name }}{{ ', ' if not loop.last }}{% endfor %}){% endmacro %}
{%- if tools is defined and tools %}Tools:{% for tool in tools %} {{ named(tool) }} {{ tool | tojson }}{% endfor %}
{% endif %}
{%- set ns = namespace(turns=0) %}
{%- for message in messages %}{% set ns.turns = ns.turns + 1 %}
{{- ns.turns }}. {{ message.role | upper }}: {% if message.content is string %}{{ message.content }}
{% else %}{% for part in message.content if part.type == 'text' %}{{ part.text }}{% endfor %}
{% endif %}
{%- endfor %}""",
}

USER = {"role": "user", "content": " Tell me a story about a fox. "}
ASSISTANT = {"role": "assistant", "content": "Once upon a time…"}
SYSTEM = {"role": "system", "content": "Be brief & kind."}
PARTS = {"role": "user", "content": [{"type": "text", "text": "a"}, {"type": "image"}, {"type": "text", "text": "b"}]}
TOOL = {"type": "function", "function": {"name": "add", "parameters": {"properties": {"x": {"type": "number"}, "y": {}}}}}
CONVERSATIONS = [[USER], [USER, ASSISTANT, USER], [SYSTEM, USER], [SYSTEM, USER, ASSISTANT], [USER, USER]]


def expected(template, messages, tools, add_generation_prompt):
    def raise_exception(message):
        raise jinja2.exceptions.TemplateError(message)

    environment = ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"]
    )
    environment.filters["tojson"] = lambda value: json.dumps(value, ensure_ascii=False)
    environment.globals["raise_exception"] = raise_exception
    environment.globals["strftime_now"] = TIME.strftime
    values = {"messages": messages, "add_generation_prompt": add_generation_prompt, "bos_token": "<s>", "eos_token": "</s>"}
    return environment.from_string(template).render(**values, **({"tools": tools} if tools else {}))


@pytest.mark.parametrize("add_generation_prompt", [True, False])
@pytest.mark.parametrize("name", TEMPLATES)
def test_prompts_are_those_of_jinja(package, name, add_generation_prompt):
    template = TEMPLATES[name]
    conversations = [*CONVERSATIONS, *([[PARTS, ASSISTANT]] if name == "tools" else [])]
    for messages in conversations:
        for tools in [[], [TOOL]]:
            answer = package.take(
                "render",
                template=template,
                config={"bos_token": "<s>", "eos_token": {"content": "</s>", "special": True}},
                messages=messages,
                tools=tools,
                addGenerationPrompt=add_generation_prompt,
                time=TIME.isoformat(),
            )
            try:
                prompt = expected(template, messages, tools, add_generation_prompt)
            except jinja2.exceptions.TemplateError as error:
                assert answer == {"error": f"InferenceError: chat template: {error}"}
            else:
                assert answer == {"answer": prompt}
