import { t } from '@lingui/core/macro';
import { CopyButton } from '@/ui/CopyButton';
import { CodeBlock } from '@/ui/code/CodeBlock';
import classes from './JobPage.module.css';

/** A read-only script with a copy button. */
export function ScriptText({ text, label = t`The script` }: { text: string; label?: string }) {
  return (
    <div className={classes.script}>
      <CodeBlock text={text} label={label} />
      <CopyButton text={text} />
    </div>
  );
}
