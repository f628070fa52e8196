import { Trans } from '@lingui/react/macro';
import { Button } from '@mantine/core';
import type { ScriptImport } from '@/api/types';
import { useAction } from '@/ui/useAction';
import { importScript } from './importScript';

interface Props {
  script: string;
  onImport: (imported: ScriptImport) => void;
}

/** The offer to turn a script's #SBATCH lines into the fields below. */
export function ImportLines({ script, onImport }: Props) {
  const [busy, run] = useAction();
  if (!/^#SBATCH/m.test(script)) return null;
  return (
    <div>
      <Button
        size="compact-sm"
        variant="default"
        loading={busy}
        onClick={() => void run(async () => onImport(await importScript(script)))}
      >
        <Trans>Turn the #SBATCH lines into fields</Trans>
      </Button>
    </div>
  );
}
