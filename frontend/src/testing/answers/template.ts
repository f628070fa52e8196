/** What the portal answered once, recorded by tests/browser/answers.py. */
// biome-ignore-all lint/suspicious/noTemplateCurlyInString: a shell's variables
import type { Answer } from '../answer';

export const template = {
  name: 'python-training',
  title: 'Training with NumPy',
  description:
    'Trains a small network written in plain NumPy on made-up data, and logs its loss to TensorBoard: the shortest whole example of a training job. Or runs your own Python script.',
  framework: null,
  environment: 'python3',
  environments: null,
  tags: ['training', 'example'],
  array: [],
  requeue: false,
  starter: 'python3.ipynb',
  default_resources: {
    partition: null,
    nodes: 1,
    gpus: 0,
    gpu_type: null,
    cpus: 2,
    memory_gb: 2.0,
    time_limit_minutes: 60,
    account: null,
    qos: null,
  },
  available: true,
  unavailable_reason: null,
  parameters: {
    $schema: 'https://json-schema.org/draft/2020-12/schema',
    type: 'object',
    additionalProperties: false,
    required: [],
    properties: {
      epochs: {
        'x-widget': 'number',
        type: 'integer',
        title: 'Epochs',
        description: 'How often all data is seen.',
        minimum: 1,
        maximum: 100000,
        default: 20,
        'x-unit': 'epochs',
        'x-order': 0,
      },
      learning_rate: {
        'x-widget': 'number',
        type: 'number',
        title: 'Learning rate',
        exclusiveMinimum: 0,
        maximum: 10,
        default: 0.1,
        'x-order': 1,
      },
      batch_size: {
        'x-widget': 'number',
        type: 'integer',
        title: 'Batch size',
        minimum: 1,
        maximum: 512,
        default: 32,
        'x-unit': 'examples',
        'x-order': 2,
      },
      script: {
        'x-widget': 'path',
        type: ['string', 'null'],
        title: 'Your own script',
        description: 'A Python file to run instead, such as ~/train.py.',
        default: null,
        'x-order': 3,
      },
      arguments: {
        'x-widget': 'list',
        type: 'array',
        title: 'Its arguments',
        description: 'Arguments for your own script, one per line.',
        items: {
          type: 'string',
        },
        default: [],
        'x-order': 4,
      },
    },
  },
  script:
    'if [[ -n $script ]]; then\n  in_env python3 "$script" "${arguments[@]}"\nelse\n  in_env python3 "$PORTAL_JOB_DIR/train_numpy.py" --epochs="$epochs" \\\n    --learning-rate="$learning_rate" --batch-size="$batch_size"\nfi\n',
} satisfies Answer<'/api/v1/templates/{name}'>;
