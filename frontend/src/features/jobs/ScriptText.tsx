import { CopyButton } from '@/features/log/CopyButton';
import classes from './JobPage.module.css';

/** A script to read and to copy. */
export function ScriptText({ text }: { text: string }) {
  return (
    <div className={classes.script}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: keyboards must be able to scroll it */}
      <pre tabIndex={0}>{text}</pre>
      <CopyButton text={text} />
    </div>
  );
}
