import {
  type Entry,
  form,
  type InputRequest,
  STRING,
  sample,
  text,
  textOf,
  textResult,
  tool,
} from './conformance-fixture.ts';

const NAME = form('What is your name?', { name: STRING }, ['name']);
const AGREED = form('Shall it go on?', { ok: { type: 'boolean' } }, ['ok']);
const CAPITAL = sample('What is the capital of France?');
const ROOTS: InputRequest = { method: 'roots/list' };
const PREFIX = 'test_input_required_result_';

/** Tools that send input requests: an `input_required` result, or a request to the client. */
export const INPUT_TOOLS: readonly Entry[] = [
  tool(`${PREFIX}elicitation`, 'Asks for a name.', {}, async (_input, context) => {
    const { user_name } = await context.requestInput({ user_name: NAME });
    return textResult(`Hello, ${textOf(user_name?.content)}!`);
  }),
  tool(`${PREFIX}sampling`, 'Asks the model.', {}, async (_input, context) => {
    const { capital_question } = await context.requestInput({ capital_question: CAPITAL });
    return textResult(`The model says: ${textOf(capital_question?.content)}`);
  }),
  tool(`${PREFIX}list_roots`, 'Asks for the roots.', {}, async (_input, context) => {
    const { client_roots } = await context.requestInput({ client_roots: ROOTS });
    return textResult(`The roots are: ${textOf(client_roots?.roots)}`);
  }),
  tool(`${PREFIX}request_state`, 'Asks whether to go on.', {}, async (_input, context) => {
    await context.requestInput({ confirm: AGREED }, { sealed: true });
    return textResult('state-ok');
  }),
  tool(`${PREFIX}multiple_inputs`, 'Asks for everything.', {}, async (_input, context) => {
    const inputRequests = { user_name: NAME, capital_question: CAPITAL, client_roots: ROOTS };
    return textResult(textOf(await context.requestInput(inputRequests, { sealed: true })));
  }),
  tool(`${PREFIX}multi_round`, 'Asks twice.', {}, async (_input, context) => {
    const { step1 } = await context.requestInput({ step1: NAME }, { sealed: true });
    const { step2 } = await context.requestInput({ step2: form('Which colour?', { color: STRING }, ['color']) });
    return textResult(textOf([step1?.content, step2?.content]));
  }),
  tool(`${PREFIX}tampered_state`, 'Rejects a changed requestState.', {}, async (_input, context) => {
    await context.requestInput({ confirm: AGREED }, { sealed: true });
    return textResult('The requestState is unchanged.');
  }),
  tool(`${PREFIX}capabilities`, 'Sends the input request that the client supports.', {}, async (_input, context) => {
    const inputRequest = context.capabilities.elicitation === undefined ? CAPITAL : NAME;
    const { answer } = await context.requestInput({ answer: inputRequest });
    return textResult(textOf(answer));
  }),
];

export const INPUT_PROMPT: Entry = {
  definition: { name: `${PREFIX}prompt`, description: 'Asks what it is about.' },
  async run(_input, context) {
    const { user_context } = await context.requestInput({
      user_context: form('What is it about?', { context: STRING }),
    });
    return { messages: [{ role: 'user', content: text(`It is about ${textOf(user_context?.content)}.`) }] };
  },
};
