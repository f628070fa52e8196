-- Train a small network with Torch7, on a GPU if the job has one and cunn is installed. The data are
-- points in the plane; the label is whether a point lies in a circle. Prints a line for each epoch.

require 'torch'
require 'nn'
require 'optim'

local options = torch.CmdLine()
options:option('-epochs', 20, 'how often all data is seen')
options:option('-learning_rate', 0.1, 'learning rate')
options:option('-batch_size', 32, 'examples in a batch')
options:option('-hidden', 16, 'neurons in the hidden layer')
options:option('-seed', 0, 'of the random numbers')
local arguments = options:parse(arg)
torch.manualSeed(arguments.seed)

local count = 512
local points = torch.rand(count, 2):mul(2):add(-1)
local wanted = torch.lt(torch.norm(points, 2, 2), 0.7):double()

local model = nn.Sequential()
model:add(nn.Linear(2, arguments.hidden)):add(nn.Tanh())
model:add(nn.Linear(arguments.hidden, 1)):add(nn.Sigmoid())
local criterion = nn.BCECriterion()
local gpu = os.getenv('CUDA_VISIBLE_DEVICES') and pcall(require, 'cunn')
if gpu then
  model, criterion, points, wanted = model:cuda(), criterion:cuda(), points:cuda(), wanted:cuda()
end
print('training on ' .. (gpu and 'a GPU' or 'the CPU'))

local weights, slopes = model:getParameters()
local settings = {learningRate = arguments.learning_rate, momentum = 0.9, dampening = 0}
local size = math.min(arguments.batch_size, count)
print('epoch      loss  accuracy')
for epoch = 0, arguments.epochs - 1 do
  local order = torch.randperm(count):long()
  for at = 1, count - size + 1, size do
    local some = order:narrow(1, at, size)
    local inputs, answers = points:index(1, some), wanted:index(1, some)
    optim.sgd(function()
      slopes:zero()
      local guess = model:forward(inputs)
      local loss = criterion:forward(guess, answers)
      model:backward(inputs, criterion:backward(guess, answers))
      return loss, slopes
    end, weights, settings)
  end
  local guess = model:forward(points)
  local loss = criterion:forward(guess, wanted)
  local accuracy = torch.eq(torch.gt(guess, 0.5), torch.gt(wanted, 0.5)):double():mean()
  print(string.format('%5d  %8.4f  %8.3f', epoch, loss, accuracy))
  io.flush()
end

local logdir = os.getenv('PORTAL_LOGDIR') or '.'
torch.save(paths.concat(logdir, 'model.t7'), model:double())
