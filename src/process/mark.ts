/** The variable in which each child carries our mark; whatever it starts, wherever it hides, inherits it. */
export const MARK = 'HEDDLE_LINE';
