import { expect, test } from 'vitest';
import { type ChatMessage, type ChatTemplate, openChatTemplate } from './chat-template.ts';

const now = new Date('2026-03-09T07:05:00Z');
const hello: ChatMessage = { role: 'user', content: 'Hello' };
const chatml =
  '{% for m in messages %}<|{{ m.role }}|>{{ m.content }}{{ eos_token }}{% endfor %}{% if add_generation_prompt %}<|assistant|>{% endif %}';

function opened(template: unknown, more: Record<string, unknown> = {}, file?: string): ChatTemplate {
  const found = openChatTemplate({ chat_template: template, ...more }, file);
  if (found === undefined) throw new Error('no template');
  return found;
}

function rendered(template: string, messages: readonly ChatMessage[] = [hello]): string {
  return opened(template).render({ messages, addGenerationPrompt: true, now });
}

test('messages become a prompt, with special tokens and the beginning of the answer', () => {
  const template = opened(chatml, { eos_token: { content: '</s>', special: true } });
  const messages = [hello, { role: 'assistant', content: 'Hi' }];
  expect(template.render({ messages, addGenerationPrompt: true, now })).toBe(
    '<|user|>Hello</s><|assistant|>Hi</s><|assistant|>',
  );
  expect(template.render({ messages, addGenerationPrompt: false, now })).toBe('<|user|>Hello</s><|assistant|>Hi</s>');
});

test('chat_template.jinja goes before tokenizer_config.json, and neither is no template', () => {
  expect(opened('old', {}, 'new').render({ messages: [], addGenerationPrompt: true, now })).toBe('new');
  expect(openChatTemplate({}, 'alone')).toBeDefined();
  expect(openChatTemplate({}, undefined)).toBeUndefined();
});

test('of several templates that for tools is taken when there are tools', () => {
  const template = opened([
    { name: 'default', template: 'plain' },
    { name: 'tool_use', template: '{{ tools | length }} tools' },
  ]);
  const request = { messages: [hello], addGenerationPrompt: true, now };
  expect(template.render(request)).toBe('plain');
  expect(template.render({ ...request, tools: [] })).toBe('plain');
  expect(template.render({ ...request, tools: [{}, {}] })).toBe('2 tools');
});

test('further variables reach the template, but not in the place of those it gets', () => {
  const template = opened('{{ enable_thinking }} {{ undefined_one is defined }}');
  const request = { messages: [hello], addGenerationPrompt: true, now };
  expect(template.render({ ...request, variables: { enable_thinking: false } })).toBe('false false');
  expect(() => template.render({ ...request, variables: { messages: [] } })).toThrow(
    "chat template: 'messages' cannot be set as variables",
  );
});

test('the time is the given one, in UTC and English', () => {
  expect(rendered("{{ strftime_now('%d %b %Y, %B %m, %H:%M:%S %%') }}")).toBe('09 Mar 2026, March 03, 07:05:00 %');
});

test('ranges are those of Python', () => {
  expect(
    rendered(
      '{{ range(3) | join(" ") }};{{ range(2, 8, 3) | join(" ") }};{{ range(3, 0, -1) | join(" ") }};{{ range(5, 1) | join(" ") }}',
    ),
  ).toBe('0 1 2;2 5;3 2 1;');
});

test('what a template says against the messages is the error', () => {
  expect(() => rendered("{{ raise_exception('roles must alternate') }}")).toThrow(
    expect.objectContaining({ code: 'invalid-request', message: 'chat template: roles must alternate' }),
  );
});

test.each([
  [
    'loops',
    '{% for a in range(9999) %}{% for b in range(9999) %}{{ a }}{% endfor %}{% endfor %}',
    'takes more than 200000 steps',
  ],
  ['recursion', '{% macro again() %}{{ again() }}{% endmacro %}{{ again() }}', 'chat template: '],
  ['ranges', '{{ range(100000000) }}', 'range of 100000000 items, more than 100000'],
  ['steps of 0', '{{ range(0, 5, 0) }}', 'range of Infinity items'],
  [
    'loops without a body',
    '{% for a in range(9999) %}{% for b in range(9999) if b %}{% endfor %}{% endfor %}',
    'takes more than 200000 steps',
  ],
  [
    'texts',
    "{% set ns = namespace(s='aaaaaaaa') %}{% for a in range(60) %}{% set ns.s = ns.s ~ ns.s %}{% endfor %}{{ ns.s }}",
    'makes a text of 524288 characters, more than 400000',
  ],
  [
    'lists',
    '{% set ns = namespace(s=[1, 2]) %}{% for a in range(60) %}{% set ns.s = ns.s + ns.s %}{% endfor %}',
    'makes a list of 131072 items, more than 100000',
  ],
])('the work of %s is limited', (_, template, message) => {
  expect(() => rendered(template)).toThrow(message);
});

test.each([
  [{ chat_template: '{% if %}' }, 'tokenizer_config.json: chat template cannot be read'],
  [
    { chat_template: [{ name: 'x', template: 'y' }] },
    'tokenizer_config.json: chat_template has no template named default',
  ],
  [{ chat_template: [{ name: 'default' }] }, 'an entry has no name or no template'],
])('%j is refused when it is opened', (config, message) => {
  expect(() => openChatTemplate(config, undefined)).toThrow(message);
});
