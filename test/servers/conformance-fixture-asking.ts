import { form, type Offer, type Question, STRING, said, sample, text, textOf, tool } from './conformance-fixture.ts';

const NAME = form('What is your name?', { name: STRING }, ['name']);
const AGREED = form('Shall it go on?', { ok: { type: 'boolean' } }, ['ok']);
const CAPITAL = sample('What is the capital of France?');
const ROOTS: Question = { method: 'roots/list' };
const PREFIX = 'test_input_required_result_';

/** Tools that stop to ask: by an `input_required` result, or by a request to the client. */
export const ASKING_TOOLS: readonly Offer[] = [
  tool(`${PREFIX}elicitation`, 'Asks for a name.', {}, async (_input, round) => {
    const { user_name } = await round.ask({ user_name: NAME });
    return said(`Hello, ${textOf(user_name?.content)}!`);
  }),
  tool(`${PREFIX}sampling`, 'Asks the model.', {}, async (_input, round) => {
    const { capital_question } = await round.ask({ capital_question: CAPITAL });
    return said(`The model says: ${textOf(capital_question?.content)}`);
  }),
  tool(`${PREFIX}list_roots`, 'Asks where to work.', {}, async (_input, round) => {
    const { client_roots } = await round.ask({ client_roots: ROOTS });
    return said(`The roots are: ${textOf(client_roots?.roots)}`);
  }),
  tool(`${PREFIX}request_state`, 'Asks whether to go on.', {}, async (_input, round) => {
    await round.ask({ confirm: AGREED }, { sealed: true });
    return said('state-ok');
  }),
  tool(`${PREFIX}multiple_inputs`, 'Asks for everything.', {}, async (_input, round) => {
    const questions = { user_name: NAME, capital_question: CAPITAL, client_roots: ROOTS };
    return said(textOf(await round.ask(questions, { sealed: true })));
  }),
  tool(`${PREFIX}multi_round`, 'Asks twice.', {}, async (_input, round) => {
    const { step1 } = await round.ask({ step1: NAME }, { sealed: true });
    const { step2 } = await round.ask({ step2: form('Which colour?', { color: STRING }, ['color']) });
    return said(textOf([step1?.content, step2?.content]));
  }),
  tool(`${PREFIX}tampered_state`, 'Wants its state back as it was.', {}, async (_input, round) => {
    await round.ask({ confirm: AGREED }, { sealed: true });
    return said('The state was as it had been.');
  }),
  tool(`${PREFIX}capabilities`, 'Asks whoever can be asked.', {}, async (_input, round) => {
    const asked = round.capabilities.elicitation === undefined ? CAPITAL : NAME;
    const { answer } = await round.ask({ answer: asked });
    return said(textOf(answer));
  }),
];

export const ASKING_PROMPT: Offer = {
  definition: { name: `${PREFIX}prompt`, description: 'Asks what it is about.' },
  async run(_input, round) {
    const { user_context } = await round.ask({ user_context: form('What is it about?', { context: STRING }) });
    return { messages: [{ role: 'user', content: text(`It is about ${textOf(user_context?.content)}.`) }] };
  },
};
