/** The words of docs/glossary.md, built in. Only ever imported when somebody asks. */
import markdown from '../../../../docs/glossary.md?raw';
import { parseGlossary } from './parse';

export const GLOSSARY = parseGlossary(markdown);
