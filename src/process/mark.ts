/** The environment variable with our mark. Every descendant of a child inherits it. */
export const MARK = 'HEDDLE_LINE';
